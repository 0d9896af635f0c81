"""A reader: goes through a topic from any place, and leaves no trace at the broker."""

from functools import partial
from math import inf

from magnetar.checks import check_count, check_timeout
from magnetar.model.position import Position
from magnetar.schemas.schema import T_co

from .entry import Entry
from .incoming_messages import IncomingMessages
from .receiver import Receiver


class Reader(Receiver[T_co]):
    """Made by ``Client.create_reader``. Like a consumer, but nothing needs acknowledging.

    After a reconnection it goes on behind the last message it gave to the application. It reads
    through a subscription that is not durable, and tells the broker how far it is: what it has
    read may be deleted while it is connected.
    """

    async def backlog(self) -> int:
        """Entries that are still to be acknowledged; a batch is one. Raises as ``seek``.

        The broker counts them, in all of the topics and partitions together.
        """
        return sum(await self._parts.all(part.positions.backlog() for part in self._parts))

    async def receive_entries(
        self,
        count_max: int = 1000,
        timeout_s: float | None = None,
        *,
        bytes_max: float = inf,
    ) -> list[Entry]:
        """Whole entries, until they have ``count_max`` messages; waits as ``receive_many``.

        Those behind the one with which payloads have ``bytes_max`` bytes are left to the next call.
        For callers that take many messages apart at once, such as into columns.
        """
        check_count("count_max", count_max)
        check_timeout(timeout_s)
        take = partial(IncomingMessages.take_entries, bytes_max=bytes_max)
        return await self._queues.wait(count_max, timeout_s, take)

    async def mark_delete_position(self) -> Position | None:
        """Up to which entry the broker takes everything for received.

        Of a new reader that is the entry before its start; of one that starts behind the end of a
        ledger, the last entry of the ledger. Of several topics or partitions it is the least, and
        None when none of them has a message. Raises TimedOut or the broker's error.
        """
        return min((mark for *_, mark in await self._last_messages()), default=None)
