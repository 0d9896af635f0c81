"""A lease: it is held until the session ends, it is released, or its record is changed.

lease = await Lease.take(metadata, "/leader", b"broker-1", lost=step_down, tasks=tasks)
"""

import contextlib
from collections.abc import Callable

from magnetar.errors import AlreadyExists, VersionMismatch
from magnetar.storage.metadata.store import ABSENT, MetadataStore, Record
from magnetar.tasks import Tasks


class Lease:
    """An ephemeral record whose value names the holder. Holders must have different values."""

    held: bool  # Invariant: it stays False after ``lost`` or ``release`` was called.

    def __init__(
        self,
        metadata: MetadataStore,
        path: str,
        value: bytes,
        *,
        lost: Callable[[], None],
        tasks: Tasks,
    ) -> None:
        """For ``take``."""
        self.held = True
        self.path = path
        self._metadata = metadata
        self._value = value
        self._lost = lost
        self._tasks = tasks
        self._taken = False  # Before the record is written, its absence is no loss.
        self._watch = metadata.watch(path, self._changed)

    @classmethod
    async def take(
        cls,
        metadata: MetadataStore,
        path: str,
        value: bytes,
        *,
        lost: Callable[[], None],
        tasks: Tasks,
    ) -> "Lease":
        """Take the lease. Raises AlreadyExists, naming the holder, when it is held.

        ``lost`` is called on the event loop, at most once, when the lease ended without
        ``release``: others may hold it then. A holder learns only late that its lease ended, so
        what two must never do at once needs fencing as well, as ledgers have it.
        """
        lease = cls(metadata, path, value, lost=lost, tasks=tasks)
        try:
            await metadata.put(path, value, expected_version=ABSENT, ephemeral=True)
        except BaseException as error:
            lease._end()
            if not isinstance(error, VersionMismatch):
                raise
            record = await metadata.get(path)
            holder = "somebody" if record is None else record.value.decode("utf-8", "replace")
            raise AlreadyExists(f"{path} is held by {holder}: wait until they let go") from error
        lease._taken = True
        return lease

    async def release(self) -> None:
        """Release the lease, if it is still held."""
        if not self.held:
            return
        self._end()
        record = await self._ours()
        if record is not None:
            with contextlib.suppress(VersionMismatch):  # Somebody else took it meanwhile.
                await self._metadata.delete(self.path, expected_version=record.version)

    def _changed(self, _: str) -> None:
        if self.held and self._taken:
            self._tasks.spawn("lease", self._look())

    async def _look(self) -> None:
        ours = await self._ours()
        if self.held and ours is None:
            self._end()
            self._lost()

    async def _ours(self) -> Record | None:
        record = await self._metadata.get(self.path)
        return record if record is not None and record.value == self._value else None

    def _end(self) -> None:
        self.held = False
        self._watch.cancel()
