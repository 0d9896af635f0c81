"""Saves cursors that changed, and trims the logs whose cursors moved, for a whole broker.

One loop saves; what is to be trimmed then has a task of its own, since a store may take long to
delete ledgers. Both run only while something has changed, so an idle broker has no timer here.
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import Final, Protocol

from magnetar.clock import Clock
from magnetar.errors import Fenced, MagnetarError
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)

SAVES_AT_ONCE_MAX: Final = 64
"""How many records the metadata store gets together; it may write them in one transaction."""


class Trimmer(Protocol):
    """What trims a managed ledger, as far as the saver must know it."""

    @property
    def name(self) -> str: ...

    async def trim(self) -> None: ...


class Saveable(Protocol):
    """A cursor, as far as the saver must know it."""

    @property
    def name(self) -> str: ...

    @property
    def trimmer(self) -> Trimmer: ...

    async def flush(self) -> None: ...


class CursorSaver:
    """The loop that saves. A change waits for ``interval_s`` at most."""

    def __init__(self, tasks: Tasks, clock: Clock, *, interval_s: float = 1.0) -> None:
        self._tasks = tasks
        self.clock = clock
        self._interval_s = interval_s
        self._to_save: dict[Saveable, None] = {}  # In the order of the changes.
        self._to_trim: dict[Trimmer, None] = {}
        self._running: asyncio.Task[None] | None = None
        self._trimming: asyncio.Task[None] | None = None  # Saves do not wait for it.

    @property
    def idle(self) -> bool:
        """Whether nothing waits to be saved or trimmed."""
        return self._running is None and self._trimming is None

    def save_soon(self, cursor: Saveable) -> None:
        """Save ``cursor``, then trim its log."""
        self._to_save[cursor] = None
        if self._running is None:
            self._start()

    def trim_soon(self, trimmer: Trimmer) -> None:
        """Trim a log."""
        self._to_trim[trimmer] = None
        if self._running is None:
            self._start()

    def _start(self) -> None:
        self._running = self._tasks.spawn("save cursors", self._run())

    async def _run(self) -> None:
        try:
            while self._to_save or self._to_trim:
                await self.clock.sleep(self._interval_s)
                cursors, self._to_save = list(self._to_save), {}
                for start in range(0, len(cursors), SAVES_AT_ONCE_MAX):
                    together = cursors[start : start + SAVES_AT_ONCE_MAX]
                    await asyncio.gather(*map(self._save, together))
                self._to_trim.update(dict.fromkeys(cursor.trimmer for cursor in cursors))
                if self._to_trim and self._trimming is None:
                    trimmers, self._to_trim = self._to_trim, {}
                    self._trimming = self._tasks.spawn("trim", self._trim_all(trimmers))
        finally:
            self._running = None

    async def _save(self, cursor: Saveable) -> None:
        try:
            await cursor.flush()
        except Fenced as error:
            log.info("cursor.not_saved cursor=%s reason=%s", cursor.name, error)
        except MagnetarError as error:
            log.warning("cursor.save_failed cursor=%s error=%s", cursor.name, error)
            self._to_save[cursor] = None

    async def _trim_all(self, trimmers: Iterable[Trimmer]) -> None:
        try:
            for trimmer in trimmers:
                await self._trim(trimmer)
        finally:
            self._trimming = None

    async def _trim(self, trimmer: Trimmer) -> None:
        try:
            await trimmer.trim()
        except Fenced as error:
            log.info("managed_ledger.not_trimmed name=%s reason=%s", trimmer.name, error)
        except MagnetarError as error:
            log.warning("managed_ledger.trim_failed name=%s error=%s", trimmer.name, error)
