"""The ledgers in the logs of another process, which is asked about them.

Everything that is asked may be asked again. So a process that ends while it is asked is asked
again once it has been replaced: its socket stays, and requests wait there.
"""

import asyncio
from pathlib import Path
from typing import Final

from magnetar.clock import Clock
from magnetar.errors import StorageError
from magnetar.storage.ledger.store import LedgerEnd, LedgerEntries, LedgerId
from magnetar.tasks import Tasks

from .frames import (
    ANSWER,
    REQUEST,
    Asked,
    LedgerRequest,
    decode_end,
    decode_entries,
    decode_error,
)

ANSWER_TIMEOUT_S: Final = 30.0
AGAIN_S: Final = 0.02
"""So long after a connection ended, or did not begin, another is tried."""


class RemoteLog:
    """Asks one process, by one connection at a time."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._connection: _Connection | None = None
        self._tasks = Tasks(f"log of {path.name}")

    async def close(self) -> None:
        """End the connection; what is under way fails."""
        await self._tasks.close()
        if self._connection is not None:
            self._connection.close()

    async def open(self, ledger_id: LedgerId) -> "RemoteReader":
        """Open a ledger for reading after fencing its writer. Raises StorageError."""
        end = decode_end(await self.ask(Asked.OPEN, ledger_id))
        return RemoteReader(self, ledger_id, end)

    async def delete(self, ledger_id: LedgerId) -> None:
        """Delete a ledger, or do nothing where that was done. Raises StorageError."""
        await self.ask(Asked.DELETE, ledger_id)

    async def ask(self, what: Asked, ledger_id: LedgerId, *details: int) -> bytes:
        """The body of an answer. Raises the StorageError that it is, or that there is none."""
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                while True:
                    try:
                        connection = await self._connected()
                        return await connection.ask(what, ledger_id, *details)
                    except OSError:
                        await self._clock.sleep(AGAIN_S)
        except TimeoutError:
            raise StorageError(
                f"ledger {ledger_id} is in the log of process {self._path.name}, which has not "
                f"answered for {ANSWER_TIMEOUT_S:g} s: see in the log of this broker whether it "
                "could be started again"
            ) from None

    async def _connected(self) -> "_Connection":
        if self._connection is None or self._connection.ended:
            self._connection = connection = _Connection()  # Who asks meanwhile waits for it, too.
            self._tasks.spawn("answers", connection.run(self._path))
        await self._connection.begun.wait()
        return self._connection


class RemoteReader:
    """Reads a ledger that was opened, and so ends where it did then."""

    __slots__ = ("_log", "end", "ledger_id")

    def __init__(self, log: RemoteLog, ledger_id: LedgerId, end: LedgerEnd) -> None:
        self._log = log
        self.ledger_id = ledger_id
        self.end = end

    async def read(self, first: int, count_max: int, bytes_max: int) -> LedgerEntries:
        body = await self._log.ask(Asked.READ, self.ledger_id, first, count_max, bytes_max)
        return decode_entries(body)


class _Connection:
    """One connection: requests have numbers, and answers come in any order."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()  # Or ended.
        self.ended = False
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._next = 0

    async def ask(self, what: Asked, ledger_id: LedgerId, *details: int) -> bytes:
        """The body of an answer. Raises ConnectionError where none can come any more."""
        if self.ended or self._writer is None:
            raise ConnectionResetError
        number = self._next = (self._next + 1) % 2**32
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(REQUEST.pack(*LedgerRequest(number, what, ledger_id, *details)))
            body: bytes = await answer
        finally:
            del self._waiting[number]
        return body

    async def run(self, path: Path) -> None:
        """Connect, and hand out answers until the connection ends."""
        try:
            reader, self._writer = await asyncio.open_unix_connection(str(path))
            self.begun.set()
            while True:
                head = await reader.readexactly(ANSWER.size)
                number, error, length = ANSWER.unpack(head)
                body = await reader.readexactly(length)
                answer = self._waiting.get(number)
                if answer is not None and not answer.done():
                    if error:
                        answer.set_exception(decode_error(error, body))
                    else:
                        answer.set_result(body)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.close()

    def close(self) -> None:
        self.ended = True
        self.begun.set()
        if self._writer is not None:
            self._writer.close()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionResetError())
