"""A reader: goes through a topic from any place, and leaves no trace at the broker."""

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

    async def receive_entries(
        self, count_max: int = 1000, timeout_s: float | None = None
    ) -> list[Entry]:
        """Whole entries, until they have ``count_max`` messages; waits as ``receive_many``.

        For who takes many messages apart at once, such as into columns.
        """
        return await self._wait(count_max, timeout_s, TopicConsumer.take_entries)
