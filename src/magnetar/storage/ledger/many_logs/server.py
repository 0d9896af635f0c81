"""Answers other processes about the ledgers in the logs of this one."""

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from magnetar.errors import StorageError
from magnetar.storage.ledger.store import LedgerId, LedgerStore
from magnetar.tasks import Tasks

from .frames import ANSWER, REQUEST, Asked, LedgerRequest, encode_end, encode_entries, encode_error

log = logging.getLogger(__name__)

REQUESTS_MAX: Final = 64
"""Requests of one process that are under way; the next ones wait in the socket."""


class LogServer:
    """Serves whoever connects to a socket, until it is closed."""

    def __init__(self, store_of: Callable[[int], LedgerStore | None]) -> None:
        """``store_of`` brings the store that a ledger is in; None where it is not in ours."""
        self._store_of = store_of
        self._tasks = Tasks("log server")
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self, listener: socket.socket) -> None:
        self._server = await asyncio.start_unix_server(self._serve, sock=listener)

    async def close(self) -> None:
        """Answer nothing more."""
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.close()
        await self._tasks.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        room = asyncio.Semaphore(REQUESTS_MAX)
        try:
            while True:
                request = LedgerRequest(*REQUEST.unpack(await reader.readexactly(REQUEST.size)))
                await room.acquire()
                answering = self._tasks.spawn("answer", self._answer(request, writer))
                answering.add_done_callback(lambda _: room.release())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # The process has ended, or does not ask any more.
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, request: LedgerRequest, writer: asyncio.StreamWriter) -> None:
        error, body = 0, b""
        try:
            body = await self._done(request)
        except StorageError as failure:
            error, body = encode_error(failure)
        writer.write(ANSWER.pack(request.number, error, len(body)))
        writer.write(body)
        with suppress(ConnectionError):
            await writer.drain()

    async def _done(self, request: LedgerRequest) -> bytes:
        ledger_id = LedgerId(request.ledger_id)
        store = self._store_of(ledger_id)
        if store is None:
            raise StorageError(f"ledger {ledger_id} is not in a log of this process")
        if request.what == Asked.DELETE:
            await store.delete(ledger_id)
            return b""
        reader = await store.open(ledger_id)
        if request.what == Asked.OPEN:
            return encode_end(reader.end)
        return encode_entries(await reader.read(request.first, request.entries, request.size))
