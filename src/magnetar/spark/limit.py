"""How much a micro-batch takes: messages and bytes at most, shared out between partitions. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from magnetar.client.consumers.entry import Entry
from magnetar.spark.offsets import Offset
from magnetar.spark.planning import Range, shares


@dataclass(frozen=True, slots=True)
class Limit:
    """So many messages, and so many bytes of their entries, decompressed; None: any number."""

    messages_max: int | None
    bytes_max: int | None

    def shared(self, backlogs: Sequence["Backlog"]) -> list["Limit"]:
        """A share for each partition with something new, in proportion to its backlog."""
        nobody: list[int | None] = [None] * len(backlogs)
        messages: Sequence[int | None] = nobody
        if self.messages_max is not None:
            messages = shares(self.messages_max, [each.messages for each in backlogs])
        sizes: Sequence[int | None] = nobody
        if self.bytes_max is not None:
            sizes = shares(self.bytes_max, [each.bytes for each in backlogs])
        return [Limit(*each) for each in zip(messages, sizes, strict=True)]


class Backlog(NamedTuple):
    """About how much waits in a partition."""

    messages: float
    bytes: float


@dataclass(slots=True)
class Measure:
    """How far a limit goes, entry by entry. It is exact in messages, and whole entries in bytes."""

    limit: Limit
    end: Offset | None = None  # The last message within the limit.
    messages: int = 0
    bytes: int = 0
    _entries: int = 0
    _in_entries: int = 0  # Messages in these, within the limit or not.
    _left: int = 0  # Of these, the messages behind the end.

    def take(self, entry: Entry) -> bool:
        """Take what is within the limit, at least one message. False: the limit is reached."""
        size, wanted = entry.size, entry.count
        bytes_max, messages_max = self.limit.bytes_max, self.limit.messages_max
        if bytes_max is not None and self.messages and self.bytes + size > bytes_max:
            return False
        count = wanted if messages_max is None else min(wanted, messages_max - self.messages)
        self.end = Offset(*entry.delivery.position, entry.indexes[count - 1])
        sent = max(entry.delivery.batch_size, 1)
        self._entries += 1
        self._in_entries += sent
        self._left = sent - 1 - max(self.end.batch_index, 0)
        self.messages += count
        self.bytes += size
        full = messages_max == self.messages or (bytes_max is not None and self.bytes >= bytes_max)
        return not full

    def backlog(self, wanted: Range, entries: int) -> Backlog:
        """Estimate what a range of so many entries holds, by the mean of those measured."""
        measured = max(self._entries, 1)
        size = entries * max(self.bytes, 1) / measured
        if self.end == wanted.after:
            return Backlog(self.behind(wanted.upto, entries), max(size, 1))
        return Backlog(entries * max(self._in_entries, 1) / measured, size)

    def behind(self, last: Offset, entries: int) -> int:
        """About how many messages lie between the end and ``last``, so many entries behind it.

        Exact within an entry; of others by what those that were measured had in the mean.
        """
        if self.end is None or not self._entries:
            return entries
        if self.end[:2] == last[:2]:
            return max(last.batch_index - self.end.batch_index, 0)
        return self._left + round(entries * self._in_entries / self._entries)


def oldest_first(waiting: Sequence[Iterator[Entry]], limit: Limit) -> list[tuple[Measure, bool]]:
    """Of partitions side by side always the entry that is next with the oldest event.

    Returns how far each one goes, and whether it goes to its end. An entry is as old as its first
    message: that has an event time, or the time when it was published.
    """
    measures = [Measure(limit) for _ in waiting]
    ended = [True] * len(waiting)
    heads: list[tuple[int, int, Entry]] = []

    def advance(index: int) -> None:
        entry = next(waiting[index], None)
        if entry is not None:
            ended[index] = False
            heappush(heads, (_event_time_ms(entry), index, entry))

    for index in range(len(waiting)):
        advance(index)
    together = Measure(limit)
    while heads:
        _, index, entry = heappop(heads)
        before = together.messages
        goes_on = together.take(entry)
        one = measures[index]
        if together.messages > before:
            one.limit = Limit(one.messages + together.messages - before, None)
            one.take(entry)
        if not goes_on:
            break
        ended[index] = True
        advance(index)
    return list(zip(measures, ended, strict=True))


def _event_time_ms(entry: Entry) -> int:
    first = entry.messages()[0]
    return first.event_time_ms or entry.delivery.metadata.publish_time_ms
