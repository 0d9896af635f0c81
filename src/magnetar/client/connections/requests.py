"""The requests of one connection and their answers, matched by request id."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from magnetar.errors import MagnetarError, TimedOut
from magnetar.wire.commands import BaseCommand
from magnetar.wire.frames import Frame

REQUESTS_PENDING_MAX: Final = 50_000  # A Pulsar broker answers as many at once.

REQUEST_ID_OF: Final[Mapping[int, Callable[[object], int]]] = {
    BaseCommand.SUCCESS: attrgetter("success.request_id"),
    BaseCommand.LOOKUP_RESPONSE: attrgetter("lookupTopicResponse.request_id"),
    BaseCommand.PARTITIONED_METADATA_RESPONSE: attrgetter("partitionMetadataResponse.request_id"),
    BaseCommand.GET_LAST_MESSAGE_ID_RESPONSE: attrgetter("getLastMessageIdResponse.request_id"),
    BaseCommand.CONSUMER_STATS_RESPONSE: attrgetter("consumerStatsResponse.request_id"),
    BaseCommand.GET_SCHEMA_RESPONSE: attrgetter("getSchemaResponse.request_id"),
    BaseCommand.GET_OR_CREATE_SCHEMA_RESPONSE: attrgetter("getOrCreateSchemaResponse.request_id"),
    BaseCommand.GET_TOPICS_OF_NAMESPACE_RESPONSE: attrgetter(
        "getTopicsOfNamespaceResponse.request_id"
    ),
    BaseCommand.WATCH_TOPIC_LIST_SUCCESS: attrgetter("watchTopicListSuccess.request_id"),
    BaseCommand.TC_CLIENT_CONNECT_RESPONSE: attrgetter("tcClientConnectResponse.request_id"),
    BaseCommand.NEW_TXN_RESPONSE: attrgetter("newTxnResponse.request_id"),
    BaseCommand.ADD_PARTITION_TO_TXN_RESPONSE: attrgetter("addPartitionToTxnResponse.request_id"),
    BaseCommand.ADD_SUBSCRIPTION_TO_TXN_RESPONSE: attrgetter(
        "addSubscriptionToTxnResponse.request_id"
    ),
    BaseCommand.END_TXN_RESPONSE: attrgetter("endTxnResponse.request_id"),
    BaseCommand.END_TXN_ON_PARTITION_RESPONSE: attrgetter("endTxnOnPartitionResponse.request_id"),
    BaseCommand.END_TXN_ON_SUBSCRIPTION_RESPONSE: attrgetter(
        "endTxnOnSubscriptionResponse.request_id"
    ),
}
"""The commands that answer a request, each whole: where it says of which."""


@dataclass(slots=True)
class _Asked:
    """A request that has no answer yet."""

    answer: asyncio.Future[Frame]
    limit: asyncio.TimerHandle
    postponed: Callable[[], None] | None


class Requests:
    """The requests that have no answer yet. Each one is answered, fails or times out."""

    next_id: Callable[[], int]  # Gives a request id that is not in use.

    def __init__(
        self, next_id: Callable[[], int], *, pending_max: int = REQUESTS_PENDING_MAX
    ) -> None:
        self.next_id = next_id
        self._pending_max = pending_max
        self._waiting: dict[int, _Asked] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    async def ask(
        self,
        build: Callable[[int], bytes],
        write: Callable[[bytes], None],
        timeout_s: float,
        postponed: Callable[[], None] | None = None,
    ) -> Frame:
        """Send ``build(request_id)`` and return the answer.

        ``postponed`` is called when the broker says that it will answer later; from then on the
        request has no time limit. Raises the broker's error, TimedOut after ``timeout_s`` seconds,
        or what ``fail_all`` was given. When it is cancelled, a late answer is ignored.
        """
        if len(self._waiting) >= self._pending_max:
            raise TimedOut(f"{self._pending_max} requests wait on this connection; try later")
        request_id = self.next_id()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Frame] = loop.create_future()
        limit = loop.call_later(timeout_s, self._late, request_id, timeout_s)
        self._waiting[request_id] = _Asked(answer, limit, postponed)
        try:
            write(build(request_id))
            return await answer
        finally:
            limit.cancel()
            self._waiting.pop(request_id, None)

    def answered(self, request_id: int, frame: Frame) -> None:
        """Hand on an answer, if its request has not been given up."""
        asked = self._waiting.get(request_id)
        if asked is not None and not asked.answer.done():
            asked.answer.set_result(frame)

    def postponed(self, request_id: int) -> None:
        """Wait for the answer for as long as it takes."""
        asked = self._waiting.get(request_id)
        if asked is not None and not asked.answer.done():
            asked.limit.cancel()
            if asked.postponed is not None:
                asked.postponed()

    def failed(self, request_id: int, error: MagnetarError) -> None:
        """Fail the request that the broker refused."""
        asked = self._waiting.get(request_id)
        if asked is not None and not asked.answer.done():
            asked.answer.set_exception(error)

    def _late(self, request_id: int, timeout_s: float) -> None:
        late = TimedOut(f"no answer to request {request_id} within {timeout_s:g} s")
        self.failed(request_id, late)

    def fail_all(self, error: MagnetarError) -> None:
        """Fail every request, because the connection is gone."""
        for asked in self._waiting.values():
            if not asked.answer.done():
                asked.answer.set_exception(error)
