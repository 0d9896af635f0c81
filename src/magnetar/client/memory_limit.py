"""The bytes that all producers of one client hold together, without a receipt. Pure."""

from collections.abc import Callable


class MemoryLimit:
    """Counts bytes, and wakes the callers that wait for them to be less than ``limit_bytes``.

    What is taken is not refused: the taker asks ``full`` before, and may then take more than
    is left, so that a message of any size finds room at last.
    """

    used_bytes: int  # The taker adds to it.

    def __init__(self, limit_bytes: int) -> None:
        self.used_bytes = 0
        self.limit_bytes = limit_bytes
        self._waiting: dict[Callable[[], None], None] = {}  # In order, each once.

    @property
    def full(self) -> bool:
        """Whether nothing more may be taken."""
        return not self.has_room(0)

    def has_room(self, size_bytes: int) -> bool:
        """Whether more may be taken after so many."""
        return self.used_bytes + size_bytes < self.limit_bytes

    def release(self, size_bytes: int) -> None:
        self.used_bytes -= size_bytes
        if self._waiting and self.used_bytes < self.limit_bytes:
            waiting, self._waiting = self._waiting, {}
            for wake in waiting:
                wake()

    def when_free(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` once, when there is room."""
        self._waiting[wake] = None
