"""A bookie, as requests are sent to it: one connection, many requests under way.

It connects when it is first asked, or is going to be. Adds are not matched with their answers one
by one: the writer of a ledger is told which of its entries were stored, in lists. When the
connection fails, all that was under way has failed, and the next request connects again.
"""

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeVar, cast

from magnetar.errors import ConnectionLost, CorruptEntry, MagnetarError, StorageError, TimedOut
from magnetar.loop_iteration import LoopIteration, Phase
from magnetar.model.cluster_stores import BookieCounts
from magnetar.tasks import Tasks

from . import wire
from .addresses import Address
from .connector import Connector
from .entry_format import Adds
from .wire import Code, Flag

log = logging.getLogger(__name__)
T = TypeVar("T")

CONNECT_TIMEOUT_S: Final = 5.0
ADDS_MAX: Final = 4_000
"""With so many adds under way to a bookie it is sent no more; it refuses more than 10,000
(maxPendingAddRequests), and what is sent together may go beyond this."""
BEHIND_BYTES_MAX: Final = 128 * 1024 * 1024
"""A bookie that leaves more than so many bytes in its socket is given up."""

NOT_AUTHORIZED: Final = (
    "its password is another one, or that it does not know this broker: managedLedgerPassword and "
    "bookkeeperTLSClientAuthentication say what it is shown"
)


class BookieError(StorageError):
    """A bookie answered a request with a code that is not OK."""

    def __init__(self, bookie_id: str, code: int, what: str) -> None:
        name = Code(code).name if code in Code.__members__.values() else f"code {code}"
        super().__init__(f"bookie {bookie_id} answered {name} to {what}")
        self.code = code

    @property
    def says_absent(self) -> bool:
        """Whether the bookie has no such entry, or nothing of its ledger."""
        return self.code in {Code.NO_ENTRY, Code.NO_LEDGER}


class Adder(Protocol):
    """The writer of a ledger."""

    def added(self, bookie_id: str, first: int, last: int) -> None:
        """Note that a bookie has stored consecutive entries."""

    def add_failed(self, bookie_id: str, error: MagnetarError) -> None:
        """Note that a bookie refused an entry, or that its connection is lost."""


class Bookie:
    """One bookie. Closing it fails what is under way."""

    def __init__(
        self,
        bookie_id: str,
        *,
        resolve: Callable[[str], Awaitable[Address]],
        connector: Connector,
        iteration: LoopIteration,
        now: Callable[[], float],
    ) -> None:
        """``resolve`` finds the address, each time that it connects."""
        self.bookie_id = bookie_id
        self.adders: dict[int, Adder] = {}  # By ledger id.
        self.iteration = iteration
        self.heard_at = 0.0  # By ``now``: when it answered anything last.
        self.counts = BookieCounts()
        self._now = now
        self._resolve = resolve
        self._connector = connector
        self._tasks = Tasks(f"bookie {bookie_id}")
        self._transport: asyncio.Transport | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._requests: list[bytes] = []  # Reads, to be sent
        self._adds: deque[Adds] = deque()  # and adds,
        self._adding = 0  # of which so many were sent and are not answered:
        self._sent: deque[tuple[int, float]] = deque()  # how many at a time, and when.
        self._flushing = False
        self._reads: dict[tuple[int, int], deque[asyncio.Future[bytes]]] = defaultdict(deque)
        self._batches: dict[int, asyncio.Future[list[bytes]]] = {}
        self._next_request = 0

    @property
    def connected(self) -> bool:
        """Whether there is a connection now."""
        return self._transport is not None

    @property
    def adds_pending(self) -> int:
        """Adds that are sent, or wait to be, and are not answered."""
        return self._adding + sum(adds.entries for adds in self._adds)

    def connect_soon(self) -> None:
        """Connect, if it is not: it is going to be asked, and nobody should wait for that then."""
        if self._transport is None and self._connecting is None:
            self._connecting = self._tasks.spawn("connect", self._connect())

    def add(self, adds: list[Adds]) -> None:
        """Send adds at the end of this iteration, in the order of the calls."""
        self._will_flush()
        self._adds += adds

    async def read(
        self,
        ledger_id: int,
        entry_id: int,
        timeout_s: float,
        flags: Flag = Flag.NONE,
        key: bytes = b"",
    ) -> bytes:
        """An entry as it is stored. Raises BookieError, ConnectionLost, TimedOut.

        A bookie that does not answer in time loses the connection.
        """
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._reads[ledger_id, entry_id].append(answer)
        self._ask(wire.read_frame(ledger_id, entry_id, flags, key))
        try:
            return await self._answered(
                answer, timeout_s, f"read of entry {entry_id} of {ledger_id}"
            )
        except TimedOut as error:
            # An answer names no request: the next one would be taken for that to this one.
            self.drop(error)
            raise

    async def read_batch(
        self, ledger_id: int, first: int, count_max: int, bytes_max: int, timeout_s: float
    ) -> list[bytes]:
        """Consecutive entries as they are stored, at least one. Raises as ``read``."""
        self._next_request += 1
        request_id = self._next_request
        answer: asyncio.Future[list[bytes]] = asyncio.get_running_loop().create_future()
        self._batches[request_id] = answer
        self._ask(wire.batch_read_frame(ledger_id, first, request_id, count_max, bytes_max))
        try:
            return await self._answered(answer, timeout_s, f"read of ledger {ledger_id}")
        finally:
            self._batches.pop(request_id, None)

    async def close(self) -> None:
        """Close the connection; what is under way fails."""
        await self._tasks.close()
        if self._transport is not None:
            self._transport.abort()
            closed = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(closed.set_result, None)
            await closed  # As the transport is, in the next iteration.
        self.lost(ConnectionLost(f"the connection to bookie {self.bookie_id} was closed"))

    def drop(self, error: MagnetarError) -> None:
        """Give the connection up: its bookie says nothing, or what none would."""
        if self._transport is not None:
            self._transport.abort()
        self.lost(error)

    async def _answered(self, answer: asyncio.Future[T], timeout_s: float, what: str) -> T:
        try:
            with self.counts.reads.counted(self._now):
                async with asyncio.timeout(timeout_s):
                    return await answer
        except TimeoutError:
            self.counts.read_timeouts += 1
            raise TimedOut(
                f"bookie {self.bookie_id} did not answer a {what} in {timeout_s:g} s"
            ) from None

    def _ask(self, request: bytes) -> None:
        self._will_flush()
        self._requests.append(request)

    def _will_flush(self) -> None:
        if not self._flushing:
            self._flushing = True
            self.iteration.at_end(Phase.LOG, self._flush)

    def _flush(self) -> None:
        self._flushing = False
        if self._transport is None:
            if self._requests or self._adds:
                self.connect_soon()
            return
        pieces, self._requests = self._requests, []
        before = self._adding
        while self._adds and self._adding < ADDS_MAX:
            adds = self._adds.popleft()
            self._adding += adds.entries
            pieces += adds.pieces
        if self._adding > before:
            self._sent.append((self._adding - before, self._now()))
        if pieces:
            self._transport.writelines(pieces)
            if self._transport.get_write_buffer_size() > BEHIND_BYTES_MAX:
                self.drop(TimedOut(f"bookie {self.bookie_id} does not take what it is sent"))

    async def _connect(self) -> None:
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                address = await self._resolve(self.bookie_id)
                await self._connector.connect(address, _Connection(self))
        except TimeoutError:
            self.counts.connections_failed += 1
            self.lost(
                TimedOut(f"bookie {self.bookie_id} did not connect in {CONNECT_TIMEOUT_S:g} s")
            )
        except (OSError, MagnetarError) as error:
            self.counts.connections_failed += 1
            self.lost(ConnectionLost(f"bookie {self.bookie_id} cannot be reached: {error}"))
        finally:
            self._connecting = None

    # What its connection tells.

    def use(self, transport: asyncio.Transport) -> None:
        """Send what waits."""
        self.counts.connections += 1
        self._transport = transport
        self._flush()

    def is_served_by(self, transport: asyncio.Transport | None) -> bool:
        """Whether this is the connection that it uses."""
        return transport is self._transport

    def lost(self, error: MagnetarError) -> None:
        """Fail all that was under way."""
        self._transport = None
        self._requests.clear()
        self.counts.adds_failed += self.adds_pending
        self._adds.clear()
        self._adding = 0
        self._sent.clear()
        reads, self._reads = self._reads, defaultdict(deque)
        batches, self._batches = self._batches, {}
        for answers in reads.values():
            for answer in answers:
                _fail(answer, error)
        for batch in batches.values():
            _fail(batch, error)
        for adder in list(self.adders.values()):
            adder.add_failed(self.bookie_id, error)

    def take(self, answers: wire.Answers) -> None:
        """Hand on what arrived: to writers in lists, to readers one by one."""
        self.heard_at = self._now()
        added = sum(last - first + 1 for _, first, last in answers.added)
        if added or answers.failed:
            self._note_answered(added, len(answers.failed))
        if self._adds:
            self._will_flush()
        for ledger_id, first, last in answers.added:
            adder = self.adders.get(ledger_id)
            if adder is not None:
                adder.added(self.bookie_id, first, last)
        for ledger_id, entry_id, code in answers.failed:
            adder = self.adders.get(ledger_id)
            if adder is not None:
                what = f"the add of entry {entry_id} of ledger {ledger_id}"
                adder.add_failed(self.bookie_id, BookieError(self.bookie_id, code, what))
        for read in answers.reads:
            self._read(read)
        for batch in answers.batches:
            self._settle(
                self._batches.get(batch.request_id), batch.code, batch.stored, "a batch read"
            )

    def _note_answered(self, added: int, failed: int) -> None:
        """Count adds, and how long those took that were sent together and are all answered."""
        counts, sent, answered = self.counts, self._sent, added + failed
        counts.added += added
        counts.adds_failed += failed
        self._adding -= answered
        while answered and sent:
            count, sent_at = sent[0]
            if count > answered:
                sent[0] = (count - answered, sent_at)
                return
            sent.popleft()
            answered -= count
            counts.add_latency.note(self.heard_at - sent_at)

    def _read(self, read: wire.EntryRead) -> None:
        asked = self._reads.get((read.ledger_id, read.entry_id))
        if not asked:
            return
        what = f"a read of entry {read.entry_id} of ledger {read.ledger_id}"
        self._settle(asked.popleft(), read.code, read.stored, what)
        if not asked:
            del self._reads[read.ledger_id, read.entry_id]

    def _settle(self, answer: asyncio.Future[T] | None, code: int, value: T, what: str) -> None:
        if answer is None or answer.done():
            return
        if code == Code.OK:
            answer.set_result(value)
        else:
            answer.set_exception(BookieError(self.bookie_id, code, what))


class _Connection(asyncio.Protocol):
    """The socket of a bookie."""

    def __init__(self, bookie: Bookie) -> None:
        self._bookie = bookie
        self._transport: asyncio.Transport | None = None
        self._arrived: list[bytes] = []  # The beginning of a frame that is not whole.
        self._arrived_size = 0
        self._wanted = 0  # Bytes before it is worth to look again.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by its class.
        self._bookie.use(self._transport)

    def data_received(self, data: bytes) -> None:
        self._arrived.append(data)
        self._arrived_size += len(data)
        if self._arrived_size < self._wanted:
            return
        data = b"".join(self._arrived) if len(self._arrived) > 1 else data
        try:
            answers, end = wire.cut_answers(data)
        except (CorruptEntry, ConnectionLost) as error:
            log.warning("bookie.given_up bookie=%s error=%s", self._bookie.bookie_id, error)
            self._bookie.drop(type(error)(f"bookie {self._bookie.bookie_id} is given up: {error}"))
            return
        rest = data[end:]
        self._arrived = [rest] if rest else []
        self._arrived_size = len(rest)
        self._wanted = wire.frame_size(rest)
        self._bookie.iteration.run(lambda: self._bookie.take(answers))

    def connection_lost(self, error: Exception | None) -> None:
        if self._bookie.is_served_by(self._transport):
            because = f": {error}" if error else ""
            self._bookie.lost(
                ConnectionLost(f"bookie {self._bookie.bookie_id} closed its connection{because}")
            )


def _fail(answer: asyncio.Future[T], error: MagnetarError) -> None:
    if not answer.done():
        answer.set_exception(error)
