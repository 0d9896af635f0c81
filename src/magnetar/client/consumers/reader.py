"""A reader: goes through a topic from any place, and leaves no trace at the broker."""

from magnetar.client.message import Message
from magnetar.client.schemas.schema import T_co

from .entry import Entry
from .receiver import Receiver
from .topic_consumer import TopicConsumer


class Reader(Receiver[T_co]):
    """Made by ``Client.create_reader``. Like a consumer, but nothing needs acknowledging.

    After a reconnection it goes on behind the last message it gave to the application. It reads
    through a subscription that is not durable, and tells the broker how far it is: what it has
    read may be deleted while it is connected.
    """

    async def receive(self, timeout_s: float | None = None) -> Message[T_co]:
        message = await super().receive(timeout_s)
        self._part_of(message).acks.acknowledge_cumulative(message)
        return message

    async def receive_many(
        self,
        count_max: int = 1000,
        timeout_s: float | None = None,
        *,
        count_min: int = 1,
        bytes_max: int | None = None,
    ) -> list[Message[T_co]]:
        messages = await super().receive_many(
            count_max, timeout_s, count_min=count_min, bytes_max=bytes_max
        )
        last = messages[-1:]
        if len(self._topics) > 1:
            last = list({message.topic: message for message in messages}.values())
        for message in last:
            self._part_of(message).acks.acknowledge_cumulative(message)
        return messages

    async def receive_entries(
        self, count_max: int = 1000, timeout_s: float | None = None
    ) -> list[Entry]:
        """Whole entries, until they have ``count_max`` messages; waits as ``receive_many``.

        For who takes many messages apart at once, such as into columns.
        """
        entries = await self._wait(count_max, timeout_s, TopicConsumer.take_entries)
        for topic, last in {entry.delivery.topic: entry for entry in entries}.items():
            self._topics[topic].acks.acknowledge_cumulative(last.last_id)
        return entries
