"""The process that offloads, or reads back, for the broker: started when it is needed.

A broker has no use for what that needs, and must not wait while it works. The process ends when it
was not asked for a while, and with the broker.
"""

import asyncio
import logging
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, Final

from magnetar import errors, json_logs
from magnetar.clock import Clock
from magnetar.errors import InvalidValue, StorageError
from magnetar.storage.ledger.offload_frames import frame, frame_size, parse_frame
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)

IDLE_S: Final = 60.0
"""A process that was not asked for so long is ended."""
_NEEDED: Final = ("pyarrow", "obstore", "numpy")
_ENDED: Final = (OSError, EOFError, InvalidValue, RuntimeError)
"""What is raised when a process is gone; the last one by uvloop, of a pipe that is closed."""

Header = dict[str, Any]


class HistoryProcess:
    """One process, or none. Requests wait for one another."""

    def __init__(self, *arguments: str, clock: Clock, idle_s: float = IDLE_S) -> None:
        self._arguments = arguments
        self._clock = clock
        self._idle_s = idle_s
        self._turn = asyncio.Semaphore(1)
        self._process: Process | None = None
        self._asked_at = 0.0
        self._tasks = Tasks("history")

    @property
    def pid(self) -> int | None:
        """The id of the process, while there is one."""
        return None if self._process is None else self._process.pid

    async def ask(
        self, header: Header, parts: AsyncIterator[bytes] | None = None
    ) -> tuple[Header, bytes]:
        """Send a request, and frames behind it; return the answer. Raises StorageError.

        If this is cancelled, or ``parts`` raises, the process is ended.
        """
        async with self._turn:
            process = self._process
            try:
                said, body = await self._ask(process or await self._start(), header, parts)
            except StorageError:
                if process is None or parts is not None:
                    raise
                # It may have died long since. Nothing but ``parts`` cannot be sent again.
                said, body = await self._ask(await self._start(), header, None)
        if "error" in said:
            kind = getattr(errors, said["error"], StorageError)
            raise (kind if issubclass(kind, StorageError) else StorageError)(said["message"])
        return said, body

    async def _ask(
        self, process: Process, header: Header, parts: AsyncIterator[bytes] | None
    ) -> tuple[Header, bytes]:
        answered = False
        try:
            answer = await _exchange(process, header, parts)
            answered = True
        except _ENDED as error:
            raise StorageError(
                f"the process that offloads ended before it answered ({header['do']}): see the "
                f"broker's log ({error!r})"
            ) from error
        finally:
            self._asked_at = self._clock.now()
            if not answered:
                await self._end()
        return answer

    async def close(self) -> None:
        """End the process."""
        await self._tasks.close()
        await self._end()

    async def _start(self) -> Process:
        missing = [name for name in _NEEDED if find_spec(name) is None]
        if missing:
            raise StorageError(
                f"offloading needs {', '.join(missing)}: pip install 'magnetar[history]'"
            )
        arguments = [*self._arguments, *(["json"] if json_logs.in_use() else [])]
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "magnetar.history", *arguments, stdin=PIPE, stdout=PIPE
        )
        log.info("history.started pid=%d", self._process.pid)
        self._tasks.spawn("idle", self._end_when_idle())
        return self._process

    async def _end_when_idle(self) -> None:
        left_s = self._idle_s
        while left_s > 0 and self._process is not None:
            await self._clock.sleep(left_s)
            async with self._turn:
                left_s = self._asked_at + self._idle_s - self._clock.now()
                if left_s <= 0:
                    await self._end()

    async def _end(self) -> None:
        process = self._process
        if process is None:
            return
        with suppress(ProcessLookupError):  # It died already.
            process.kill()  # It has nothing to finish: what is not complete is made again.
        await process.wait()
        self._process = None


async def _exchange(
    process: Process, header: Header, parts: AsyncIterator[bytes] | None
) -> tuple[Header, bytes]:
    assert process.stdin is not None, "it was started with pipes"
    assert process.stdout is not None, "likewise"
    process.stdin.write(frame(header))
    await process.stdin.drain()
    if parts is not None:
        async for part in parts:
            process.stdin.write(part)
            await process.stdin.drain()
    size = frame_size(await process.stdout.readexactly(4))
    return parse_frame(await process.stdout.readexactly(size))
