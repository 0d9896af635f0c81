"""How far a run has come: its threads write here, the screen reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from magnetar.clock import Clock

_RATE_AFTER_S = 1.0
"""A rate is shown after this time; before, it would be the rate of the first few messages."""


@dataclass(slots=True)
class Stage:
    """A piece of the work, which one thread writes to. ``total`` is 0 when nothing is counted."""

    clock: Clock
    title: str
    unit: str = ""
    total: int = 0
    count: int = 0
    began_s: float | None = None
    ended_s: float | None = None
    note: str = ""

    @contextmanager
    def during(self) -> Iterator[None]:
        """Mark when the stage began, and when it ended well."""
        self.began_s = self.clock.now()
        yield
        self.ended_s = self.clock.now()

    @property
    def took_s(self) -> float:
        """The seconds so far, or of the whole stage once it has ended."""
        if self.began_s is None:
            return 0.0
        return (self.clock.now() if self.ended_s is None else self.ended_s) - self.began_s

    @property
    def rate(self) -> float:
        """The count per second, so far or at the end; 0 before there is one."""
        enough_s = _RATE_AFTER_S if self.ended_s is None else 0.0
        return self.count / self.took_s if self.took_s > enough_s else 0.0


class Board:
    """The stages of a run, in the order they are shown."""

    def __init__(self, clock: Clock) -> None:
        self.broker = Stage(clock, "Broker")
        self.data_set = Stage(clock, "Data set", "flights")
        self.spark = Stage(clock, "Spark")
        self.published = Stage(clock, "Publish", "messages")
        self.windows = Stage(clock, "Spark: windows", "messages")
        self.cancelled = Stage(clock, "Spark: cancelled", "messages")
        self.results = Stage(clock, "Consume results", "flights")
        self.stages: list[Stage] = list(vars(self).values())
        self.clock = clock

    @property
    def seconds(self) -> float:
        """The time from the beginning of the first stage to the end of the last one."""
        began = [stage.began_s for stage in self.stages if stage.began_s is not None]
        ended = [stage.ended_s for stage in self.stages if stage.ended_s is not None]
        return max(ended) - min(began) if ended else 0.0
