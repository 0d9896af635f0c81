"""A reader: goes through a topic from any place, and leaves no trace at the broker."""

from magnetar.client.message import Message

from .receiver import Receiver


class Reader(Receiver):
    """Made by ``Client.create_reader``. Like a consumer, but nothing needs acknowledging.

    After a reconnection it goes on behind the last message it gave to the application. It reads
    through a subscription that is not durable, and tells the broker how far it is: what it has
    read may be deleted while it is connected.
    """

    async def receive(self, timeout_s: float | None = None) -> Message:
        message = await super().receive(timeout_s)
        self._part_of(message).acks.acknowledge_cumulative(message)
        return message

    async def receive_many(
        self, count_max: int = 1000, timeout_s: float | None = None
    ) -> list[Message]:
        messages = await super().receive_many(count_max, timeout_s)
        last = messages[-1:]
        if len(self._topics) > 1:
            last = list({message.topic: message for message in messages}.values())
        for message in last:
            self._part_of(message).acks.acknowledge_cumulative(message)
        return messages
