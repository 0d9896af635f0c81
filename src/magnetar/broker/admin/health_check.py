"""Whether the broker is well: metadata is read, the log takes a record, a topic a message."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from magnetar.broker.resources import Resources
from magnetar.errors import MagnetarError, StorageError
from magnetar.tasks import Tasks

TIMEOUT_S: Final = 10.0
"""A store that takes longer is not well."""


class HealthCheck:
    """Checks at most once at a time; whoever asks meanwhile gets the answer of the same check."""

    def __init__(
        self,
        resources: Resources,
        check_log: Callable[[], Awaitable[None]],
        remedy: str = "look at the disk of dataDirectory",
        *,
        beat: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """``remedy`` helps where they do not answer. ``beat`` sends a message through a topic."""
        self.last: bool | None = None  # What the last check found; None before the first.
        self._resources = resources
        self._check_log = check_log
        self._beat = beat
        self._remedy = remedy
        self._tasks = Tasks("health")
        self._running: asyncio.Task[MagnetarError | None] | None = None

    async def check(self) -> None:
        """Raises the error of the store that is not well."""
        if self._running is None or self._running.done():
            self._running = self._tasks.start("check", self._check())
        error = await asyncio.shield(self._running)
        if error is not None:
            raise error

    async def _check(self) -> MagnetarError | None:
        well = False
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await self._resources.clusters()
                await self._check_log()
                if self._beat is not None:
                    await self._beat()
            well = True
        except TimeoutError:
            return StorageError(
                f"the log and the metadata did not answer within {TIMEOUT_S:g} s: {self._remedy}"
            )
        except MagnetarError as error:
            return error
        finally:
            self.last = well
        return None
