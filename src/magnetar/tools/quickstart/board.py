"""What is known of a run while it goes on: the threads write here, the screen reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from magnetar.clock import Clock, SystemClock


@dataclass(slots=True)
class Stage:
    """A piece of the work. ``total`` is 0 where there is nothing to count."""

    title: str
    unit: str = ""
    total: int = 0
    count: int = 0
    began_s: float | None = None
    ended_s: float | None = None
    note: str = ""

    def took_s(self, now_s: float) -> float:
        if self.began_s is None:
            return 0.0
        return (now_s if self.ended_s is None else self.ended_s) - self.began_s

    def waited(self, seconds: float) -> None:
        """So much of the time since it began was spent waiting for others: do not count it."""
        assert self.began_s is not None, "a stage that did not begin cannot have waited"
        self.began_s += seconds

    def rate(self, now_s: float) -> float:
        """Per second, so far or at the end; 0 before there is one."""
        took_s = self.took_s(now_s)
        return self.count / took_s if took_s > 0 else 0.0


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
