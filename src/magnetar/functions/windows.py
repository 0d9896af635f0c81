"""Which inputs make a window, and when: Pulsar's rules for windows. Pure.

By count, a window of the last ``length`` inputs is due after every ``slide`` of them. By time, a
window has what came in the last ``length`` milliseconds before its end, and ends come every
``slide``. By event time inputs carry times, a window ends at a multiple of ``slide``, and is due
when the watermark has passed its end: the least of the greatest times seen on each input topic,
less the lag, looked at every ``emit`` milliseconds. An input before the watermark is late.

    tumbling   slide = length: each input is in one window
    sliding    slide < length: an input is in several, and stays until the last of them is done
    sampling   slide > length: some inputs are in none
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")


class WindowRules(NamedTuple):
    """The length and slide of windows: both by count, or both in milliseconds."""

    by_count: bool
    length: int
    slide: int
    event_time: bool = False
    lag_ms: int = 0
    emit_ms: int = 1000


@dataclass(frozen=True, slots=True)
class Window(Generic[Item]):
    """A window that is due, ``(start, end]``; ``done`` are the inputs that no later one has."""

    inputs: list[Item]
    start_ms: int | None
    end_ms: int | None
    done: list[Item]


@dataclass(slots=True)
class Windows(Generic[Item]):
    """The inputs of windows to come. Whoever owns it calls ``due`` after ``add``, and when told."""

    rules: WindowRules
    now_ms: int  # When it began.
    topics: int = 1  # How many inputs have to have said something before there is a watermark.
    _kept: list[tuple[int, Item]] = field(default_factory=list)
    _new: int = 0  # By count: inputs since the last window.
    _end_ms: int = 0  # By time: the end of the next window.
    _counted_ms: int = 0  # By count and event time: up to here windows were made.
    _seen_ms: dict[str, int] = field(default_factory=dict)
    _watermark_ms: int = 0
    _emit_at_ms: int = 0

    def __post_init__(self) -> None:
        self._emit_at_ms = self.now_ms + self.rules.emit_ms
        if not self.rules.event_time:
            self._end_ms = self.now_ms - 1 + self.rules.slide  # What comes now is in it.

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def watermark_ms(self) -> int:
        """Inputs with an earlier event time are late."""
        return self._watermark_ms

    def add(self, item: Item, time_ms: int, topic: str = "") -> bool:
        """Take an input with its event time, or the time it came. False: it is late, not taken."""
        if self.rules.event_time:
            self._seen_ms[topic] = max(time_ms, self._seen_ms.get(topic, time_ms))
            if time_ms < self._watermark_ms or time_ms <= self._closed_ms:
                return False
        self._kept.append((time_ms, item))
        self._new += 1
        return True

    def due(self, now_ms: int) -> Iterator[Window[Item]]:
        """The windows that are due; take all of them. By count, call it after every ``add``."""
        rules = self.rules
        if rules.event_time:
            if now_ms >= self._emit_at_ms:
                self._emit_at_ms = now_ms + rules.emit_ms
                self._watermark_ms = max(self._watermark_ms, self._least_seen() - rules.lag_ms)
                yield from self._counted() if rules.by_count else self._timed(self._watermark_ms)
        elif not rules.by_count:
            yield from self._timed(now_ms)
        elif self._new >= rules.slide:
            self._new = 0
            yield self._last(len(self._kept), None)

    def next_ms(self) -> int | None:
        """When something may be due though nothing comes; None: never."""
        if self.rules.event_time:
            return self._emit_at_ms
        return None if self.rules.by_count else self._end_ms

    @property
    def _closed_ms(self) -> int:
        """By time: up to here no window to come has inputs."""
        rules = self.rules
        return 0 if rules.by_count else self._end_ms - max(rules.length, rules.slide)

    def _least_seen(self) -> int:
        return min(self._seen_ms.values()) if len(self._seen_ms) >= self.topics else 0

    def _timed(self, until_ms: int) -> Iterator[Window[Item]]:
        """The windows that end up to a time; those with nothing in them are passed over."""
        rules = self.rules
        self._kept.sort(key=lambda kept: kept[0])
        while self._kept and self._aligned(self._kept[0][0]) <= until_ms:
            end_ms = self._end_ms = self._aligned(self._kept[0][0])
            self._end_ms += rules.slide
            start_ms = end_ms - rules.length
            inside = [item for time_ms, item in self._kept if start_ms < time_ms <= end_ms]
            first_ms = self._end_ms - rules.length  # What is later belongs to the next window too.
            done = [item for time_ms, item in self._kept if time_ms <= min(first_ms, end_ms)]
            self._kept = [kept for kept in self._kept if kept[0] > min(first_ms, end_ms)]
            if inside or done:
                yield Window(inside, start_ms, end_ms, done)
        if not rules.event_time and self._end_ms <= until_ms:
            self._end_ms += -(-(until_ms + 1 - self._end_ms) // rules.slide) * rules.slide

    def _aligned(self, time_ms: int) -> int:
        """The first end, of the next window or later, at or after a time."""
        slide = self.rules.slide
        if self._end_ms >= time_ms and self._end_ms:
            return self._end_ms
        return time_ms + (self._end_ms - time_ms) % slide

    def _counted(self) -> Iterator[Window[Item]]:
        """By count, of what the watermark has passed, in the order of event times."""
        self._kept.sort(key=lambda kept: kept[0])
        while True:
            ready = sum(time_ms <= self._watermark_ms for time_ms, _ in self._kept)
            waiting = ready - (len(self._kept) - self._new)
            if waiting < self.rules.slide:
                return
            self._new -= self.rules.slide
            stop = len(self._kept) - self._new
            yield self._last(stop, self._kept[stop - 1][0])

    def _last(self, stop: int, end_ms: int | None) -> Window[Item]:
        rules = self.rules
        inside = self._kept[max(0, stop - rules.length) : stop]
        staying = max(0, rules.length - rules.slide)  # Of these, how many the next window has.
        cut = max(0, stop - staying)
        done = [item for _, item in self._kept[:cut]]
        del self._kept[:cut]
        return Window([item for _, item in inside], None, end_ms, done)
