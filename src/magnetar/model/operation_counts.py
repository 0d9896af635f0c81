"""How often something was done, how long that took, and how often it failed. Pure."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from magnetar.model.histogram import Histogram


@dataclass(slots=True)
class OperationCounts:
    """One kind of operation, of a whole broker."""

    latency: Histogram = field(default_factory=Histogram)  # Of those that succeeded.
    failed: int = 0
    running: int = 0

    @contextmanager
    def counted(self, now: Callable[[], float]) -> Iterator[None]:
        """Count what the block does; ``now`` tells the time in seconds."""
        began = now()
        self.running += 1
        try:
            yield
        except BaseException:
            self.failed += 1
            raise
        else:
            self.latency.note(now() - began)
        finally:
            self.running -= 1


@dataclass(slots=True)
class ConnectionCounts:
    """The connections of a broker since it started."""

    opened: int = 0
    closed: int = 0
    refused: int = 0  # There were too many; they count as opened, too.

    @property
    def open(self) -> int:
        return self.opened - self.closed
