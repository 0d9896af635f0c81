"""Where a consumer's subscription is in the log of one topic: asked of the broker, and moved."""

from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial

from magnetar.client.connections.attachment import Attachment
from magnetar.client.connections.connection import Connection, position_of
from magnetar.model.position import EARLIEST_MESSAGE, MessageId, Position
from magnetar.wire import requests
from magnetar.wire.errors import from_code
from magnetar.wire.frames import Frame

from .read_position import Start, entry_of


@dataclass(slots=True, eq=False)
class Positions:
    """The requests of one consumer. All raise TimedOut or the broker's error."""

    consumer_id: int
    partition: int
    attachment: Attachment
    timeout_s: float
    _: KW_ONLY
    leave: Callable[[], None]  # It is called before a seek.
    begin_at: Callable[[Start, int | None], None]
    """The broker has sought: where to begin, and for a seek by time that time in milliseconds."""

    async def ask(self, build: Callable[[int], bytes]) -> Frame:
        """Send a request, again when the connection is lost; return the answer."""

        def request(connection: Connection) -> Awaitable[Frame]:
            return connection.request(build, self.timeout_s)

        return await self.attachment.ask(request, self.timeout_s)

    async def last(self) -> tuple[MessageId | None, Position]:
        """The topic's last message, if it has one, and the subscription's mark-delete position."""
        answer = await self.ask(partial(requests.last_message_id, self.consumer_id))
        found = answer.command.getLastMessageIdResponse
        mark = position_of(found.consumer_mark_delete_position)
        last = position_of(found.last_message_id)
        if last.entry_id < 0:
            return None, mark
        index = found.last_message_id.batch_index  # The last message is the last one of its batch.
        return MessageId(*last, self.partition, index, index + 1), mark

    async def backlog(self) -> int:
        """How many entries the subscription has not acknowledged, as the broker counts them."""
        answer = await self.ask(partial(requests.consumer_stats, self.consumer_id))
        found = answer.command.consumerStatsResponse
        if found.HasField("error_code"):
            raise from_code(found.error_code, found.error_message)
        return int(found.msgBacklog)

    async def seek(self, message_id: MessageId, *, inclusive: bool) -> None:
        """Begin at a message."""
        start = Start(message_id, inclusive=inclusive)
        await self._move(
            partial(requests.seek, self.consumer_id, message_id=entry_of(start)), start, None
        )

    async def seek_time(self, publish_time_ms: int) -> None:
        """Begin at the first message published at or after a time."""
        await self._move(
            partial(requests.seek, self.consumer_id, publish_time_ms=publish_time_ms),
            Start(EARLIEST_MESSAGE, inclusive=True),
            publish_time_ms,
        )

    async def seek_last(self) -> None:
        """Begin at the last message there is, if there is one."""
        last, _ = await self.last()
        if last is not None:
            await self.seek(last, inclusive=True)

    async def _move(self, build: Callable[[int], bytes], start: Start, time_ms: int | None) -> None:
        """Seek. The broker detaches the consumer for it; it is attached again at the new place."""

        async def move(connection: Connection) -> None:
            self.attachment.hold()
            try:
                await connection.request(build, self.timeout_s)
                self.begin_at(start, time_ms)
            finally:
                self.attachment.release()
            await self.attachment.attached()

        self.leave()
        await self.attachment.ask(move, self.timeout_s)
