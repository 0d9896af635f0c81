"""A client's side of the wire in whole frames, and a network between two programs that misbehaves.

``WireConnection`` sends any bytes and shows every frame a broker answers, undecoded: for tests of
the protocol itself. ``Proxy`` stands between a client and a broker; its docstring says which
faults it can stage, and what is unlike a real network about them.
"""

import asyncio
import errno
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self, cast

from magnetar.clock import Clock, SystemClock
from magnetar.errors import TimedOut
from magnetar.tasks import Tasks

CHUNK_SIZE = 64 * 1024
SIZE_BYTES = 4


class WireConnection(asyncio.Protocol):
    """A connection to a broker that knows frames by their size alone."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._rest = bytearray()
        self._frames: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self.closed = False  # The broker ended the connection, or we did.
        self.answers: dict[bytes, bytes] = {}  # To frames that are answered as they arrive.
        self.answered = 0  # So many were; ``receive`` does not show them.

    @classmethod
    async def open(cls, host: str, port: int) -> Self:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(cls, host, port)
        return connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast, since uvloop's transports are none of asyncio's classes.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._rest += data
        while len(self._rest) >= SIZE_BYTES:
            end = SIZE_BYTES + int.from_bytes(self._rest[:SIZE_BYTES], "big")
            if len(self._rest) < end:
                break
            self._take(bytes(self._rest[:end]))
            del self._rest[:end]
        self._changed.set()

    def _take(self, frame: bytes) -> None:
        answer = self.answers.get(frame)
        if answer is None:
            self._frames.append(frame)
        else:
            self.answered += 1
            self.send(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._changed.set()

    def send(self, data: bytes) -> None:
        """Write ``data`` as it is; nothing happens once the connection is closed."""
        if not self.closed:
            assert self._transport is not None, "not connected: use WireConnection.open"
            self._transport.write(data)

    def pause_reading(self) -> None:
        """Take nothing from the network; what the broker sends stays there."""
        assert self._transport is not None, "not connected: use WireConnection.open"
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        assert self._transport is not None, "not connected: use WireConnection.open"
        self._transport.resume_reading()

    @property
    def waiting(self) -> int:
        """How many frames have arrived and were not taken."""
        return len(self._frames)

    async def receive(self, timeout_s: float = 5.0) -> bytes | None:
        """The next frame, its size included; None when the broker closed the connection.

        Raises TimedOut when neither happened in time. Safe to cancel.
        """
        try:
            async with asyncio.timeout(timeout_s):
                while not self._frames:
                    if self.closed:
                        return None
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise TimedOut(f"no frame from the broker within {timeout_s:g} s") from None
        return self._frames.popleft()

    async def receive_end(self, timeout_s: float = 5.0) -> list[bytes]:
        """Wait until the broker closes the connection; what arrived before. Raises TimedOut."""
        frames: list[bytes] = []
        while (frame := await self.receive(timeout_s)) is not None:
            frames.append(frame)
        return frames

    def close(self) -> None:
        """End the connection; what was sent before still leaves."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """End the connection at once, as a crash would."""
        if self._transport is not None:
            self._transport.abort()


class Proxy:
    """A TCP relay on a local port, by default a free one, as an async context manager.

    Faults: ``cut`` breaks every connection now, ``cut_after`` within something that a client sends;
    ``loses`` is shown what a broker answers, and where it says so, that is lost with every
    connection; ``refusing`` turns newcomers away; ``hold`` lets nothing through in either direction
    until ``release``, or only those of one client (``apart``); ``delay_s`` holds up every chunk.

    Unlike a real network: bytes that the relay has read are never lost when it only holds them,
    both directions are slowed alike, and a delay also limits the rate, to 64 KiB per delay.
    """

    def __init__(
        self, host: str, port: int, *, listen_port: int = 0, clock: Clock | None = None
    ) -> None:
        self._target = (host, port)
        self._listen_port = listen_port
        self._clock = clock or SystemClock()
        self._tasks = Tasks("proxy")
        self._open: set[asyncio.StreamWriter] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._server: asyncio.Server | None = None
        self._bytes_left: int | None = None  # That clients may still send; None: no end.
        self._cut = asyncio.Event()
        self.refusing = False
        self.loses: Callable[[bytes], bool] | None = None
        self.delay_s = 0.0
        self.accepted = 0

    @property
    def port(self) -> int:
        assert self._server is not None, "not listening: use the proxy in `async with`"
        return int(self._server.sockets[0].getsockname()[1])

    async def __aenter__(self) -> Self:
        async with asyncio.timeout(10):
            while self._server is None:
                try:
                    self._server = await asyncio.start_server(
                        self._accept, "127.0.0.1", self._listen_port
                    )
                except OSError as error:
                    if error.errno != errno.EADDRINUSE:
                        raise
                    await asyncio.sleep(0.05)  # A connection of another test has it: for a moment.
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.refusing = True
        self.cut()
        await self._tasks.close()

    def cut(self) -> None:
        """Break every connection at once; both ends see a reset."""
        for writer in list(self._open):
            writer.transport.abort()

    async def cut_after(self, count: int) -> None:
        """Let ``count`` more bytes of clients through, then break every connection. Waits for it.

        Whoever connects later gets through again. Cancelling it gives the cut up.
        """
        self._bytes_left = count
        self._cut.clear()
        try:
            await self._cut.wait()
        finally:
            self._bytes_left = None

    def hold(self) -> None:
        """Let nothing through from now on; connections stay open."""
        self._flowing.clear()

    def apart(self) -> asyncio.Event:
        """Let those that connected until now be held by themselves: while the event is cleared.

        ``hold`` and ``release`` no longer concern them.
        """
        flowing, self._flowing = self._flowing, asyncio.Event()
        self._flowing.set()
        return flowing

    def release(self) -> None:
        """End ``hold``: what was held arrives now, in order."""
        self._flowing.set()

    def _cut_now(self) -> None:
        self._bytes_left = None
        self.cut()
        self._cut.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refusing:
            writer.transport.abort()
            return
        self.accepted += 1
        self._open.add(writer)  # Before its task begins: one that is cancelled first never does.
        try:
            target_reader, target_writer = await asyncio.open_connection(*self._target)
        except OSError:
            self._open.discard(writer)
            writer.transport.abort()
            return
        if writer.transport.is_closing():  # It was cut meanwhile.
            self._open.discard(writer)
            target_writer.transport.abort()
            return
        self._open.add(target_writer)
        flowing = self._flowing
        self._tasks.spawn("to-broker", self._relay(reader, target_writer, flowing, counted=True))
        self._tasks.spawn("to-client", self._relay(target_reader, writer, flowing, counted=False))

    async def _relay(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        flowing: asyncio.Event,
        *,
        counted: bool,
    ) -> None:
        try:
            with suppress(ConnectionError):
                while chunk := await reader.read(CHUNK_SIZE):
                    await flowing.wait()
                    if self.delay_s:
                        await self._clock.sleep(self.delay_s)
                    if counted and self._bytes_left is not None:
                        self._bytes_left -= len(chunk)
                        if self._bytes_left <= 0:
                            writer.write(chunk[: len(chunk) + self._bytes_left])
                            self._cut_now()
                            break
                    if not counted and self.loses is not None and self.loses(chunk):
                        self.cut()
                        break
                    writer.write(chunk)
                    await writer.drain()
        finally:
            self._open.discard(writer)
            writer.close()
