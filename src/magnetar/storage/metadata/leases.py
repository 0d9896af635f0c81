"""Leases: what at most one of several processes holds at a time, each an ephemeral record.

    leases = Leases(metadata, "/namespace", b"broker-1", lost=give_up, tasks=tasks)
    holder = await leases.take("/namespace/a")    # b"broker-1", or the value of who holds it

A lease ends when it is released, when its record is deleted or replaced by another, or when the
session is lost. A process that was stopped learns only afterwards that its leases ended, so what
two must never do at once needs fencing as well, as ledgers have it.
"""

import contextlib
from collections.abc import Callable

from magnetar.errors import VersionMismatch
from magnetar.storage.metadata.store import ABSENT, MetadataStore, Owner, SessionState
from magnetar.tasks import Tasks


class Leases:
    """The leases that this process holds below one path."""

    def __init__(
        self,
        metadata: MetadataStore,
        prefix: str,
        value: bytes,
        *,
        lost: Callable[[str], None],
        tasks: Tasks,
        is_void: Callable[[bytes], bool] = lambda _: False,
    ) -> None:
        """``value`` names this process and no other that runs.

        ``is_void`` says of a holder that its leases may be taken before its session ends.

        ``lost`` is called on the event loop, once for each lease that ended without ``release``,
        at once for all where the session is lost.
        """
        self.held: dict[str, int] = {}
        """The leases that are held, and the versions of their records as they were seen last."""
        self._metadata = metadata
        self._prefix = prefix
        self._value = value
        self._lost = lost
        self._tasks = tasks
        self._is_void = is_void
        self._sessions_lost = 0
        self._watches = (
            metadata.watch(prefix, self._changed),
            metadata.watch_session(self._session_changed),
        )

    def close(self) -> None:
        """Watch no more. Leases that are held end with the session."""
        for watch in self._watches:
            watch.cancel()

    async def take(self, path: str, *, free: bool = False) -> bytes:
        """Take a lease that is free. Returns the value of its holder from now on.

        ``free``: it most likely is, so that nobody need look first. A record that an earlier
        session of this process left is replaced.
        """
        while True:
            session = self._sessions_lost
            record = None if free else await self._metadata.get(path)
            free = False
            if record is None:
                with contextlib.suppress(VersionMismatch):
                    version = await self._metadata.put(
                        path, self._value, expected_version=ABSENT, ephemeral=True
                    )
                    if session == self._sessions_lost:
                        self.held[path] = version
                        self._tasks.spawn("lease", self._look(path))  # It may have ended already.
                        return self._value
                continue
            if record.value != self._value:
                if not self._is_void(record.value):
                    return record.value
                # Of several that see it only one goes on: the others find that it has changed.
                with contextlib.suppress(VersionMismatch):
                    await self._metadata.put(path, self._value, expected_version=record.version)
                continue
            if record.owner is Owner.OURS and session == self._sessions_lost:
                self.held[path] = record.version
                return self._value
            with contextlib.suppress(VersionMismatch):
                await self._metadata.delete(path, expected_version=record.version)

    async def release(self, path: str) -> None:
        """End a lease, if it is held: somebody may wait for it, so that nobody looks first."""
        version = self.held.pop(path, None)
        if version is not None:
            with contextlib.suppress(VersionMismatch):
                await self._metadata.delete(path, expected_version=version)

    def _changed(self, path: str) -> None:
        """Look whether a lease is still ours; all of them, when it is not known which changed."""
        for held in self.held.keys() & {path} if path != self._prefix else list(self.held):
            self._tasks.spawn("lease", self._look(held))

    async def _look(self, path: str) -> None:
        record = await self._metadata.get(path)
        if record is None or record.owner is not Owner.OURS:
            self._end(path)
        elif path in self.held:
            self.held[path] = record.version

    def _session_changed(self, state: SessionState) -> None:
        if state is SessionState.LOST:
            self._sessions_lost += 1
            for path in sorted(self.held):
                self._end(path)

    def _end(self, path: str) -> None:
        if self.held.pop(path, None) is not None:
            self._lost(path)
