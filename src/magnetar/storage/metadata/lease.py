"""A lease: mine until my session ends, I let go, or somebody takes it away.

lease = await Lease.take(metadata, "/leader", b"broker-1", lost=step_down, tasks=tasks)
"""

import contextlib
from collections.abc import Callable

from magnetar.errors import AlreadyExists, VersionMismatch
from magnetar.storage.metadata.store import ABSENT, MetadataStore, Record
from magnetar.tasks import Tasks


class Lease:
    """An ephemeral record whose value says who has it. Values must differ between holders."""

    held: bool  # Invariant: once False, never True again; ``lost`` was called or ``release`` was.

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
        self._taken = False  # The record is written; before that, its absence is no loss.
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
        """Take it. Raises AlreadyExists, naming the holder, when somebody has it.

        ``lost`` is called on the event loop, at most once, when the lease is ours no longer and we
        did not release it: others may hold it then. Whoever must never act beside another holder
        needs a fence where they act (ledgers have one); a lease alone is known to end only late.
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
        """Let go, if it is still ours."""
        if not self.held:
            return
        self._end()
        record = await self._ours()
        if record is not None:
            with contextlib.suppress(VersionMismatch):  # It ended, and somebody else was faster.
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
