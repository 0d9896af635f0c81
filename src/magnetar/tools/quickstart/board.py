"""What is known of a run while it goes on: the threads write here, the screen reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from magnetar.clock import Clock, SystemClock

_RATE_AFTER_S = 1.0
"""What comes with the first message would pass for a rate before."""


@dataclass(slots=True)
class Stage:
    """A piece of the work. ``total`` is 0 where there is nothing to count."""

    title: str
    unit: str = ""
    total: int = 0
    count: int = 0
    began_s: float | None = None
    ended_s: float | None = None
    paused_s: float | None = None  # Since when it waits for others.
    note: str = ""

    def took_s(self, now_s: float) -> float:
        if self.began_s is None:
            return 0.0
        stopped_s = self.paused_s if self.ended_s is None else self.ended_s
        return (now_s if stopped_s is None else stopped_s) - self.began_s

    def pause(self, now_s: float, note: str) -> None:
        """It waits for others from now on, as ``note`` says: that time does not count."""
        self.paused_s, self.note = now_s, note

    def resume(self, now_s: float) -> None:
        assert self.began_s is not None, "it has begun"
        assert self.paused_s is not None, "it was paused"
        self.began_s += now_s - self.paused_s
        self.paused_s, self.note = None, ""

    def rate(self, now_s: float) -> float:
        """Per second, so far or at the end; 0 before there is one."""
        took_s = self.took_s(now_s)
        enough_s = _RATE_AFTER_S if self.ended_s is None else 0.0
        return self.count / took_s if took_s > enough_s else 0.0


@dataclass(slots=True)
class Board:
    """The stages in the order they are shown. Each has one thread that writes to it."""

    clock: Clock = field(default_factory=SystemClock)
    broker: Stage = field(default_factory=lambda: Stage("Broker"))
    data_set: Stage = field(default_factory=lambda: Stage("Data set", "flights"))
    spark: Stage = field(default_factory=lambda: Stage("Spark"))
    published: Stage = field(default_factory=lambda: Stage("Publish", "messages"))
    windows: Stage = field(default_factory=lambda: Stage("Spark: windows", "messages"))
    cancelled: Stage = field(default_factory=lambda: Stage("Spark: cancelled", "messages"))
    results: Stage = field(default_factory=lambda: Stage("Consume results", "flights"))

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (
            self.broker,
            self.data_set,
            self.spark,
            self.published,
            self.windows,
            self.cancelled,
            self.results,
        )

    @contextmanager
    def during(self, stage: Stage) -> Iterator[Stage]:
        """Mark when the stage began, and when it ended well."""
        stage.began_s = self.clock.now()
        yield stage
        stage.ended_s = self.clock.now()
