"""How much a micro-batch takes: messages and bytes at most, shared out between partitions. Pure."""

from dataclasses import dataclass

from magnetar.client.consumers.entry import Entry
from magnetar.spark.offsets import Offset
from magnetar.spark.planning import shares


@dataclass(frozen=True, slots=True)
class Limit:
    """So many messages, and so many bytes of their entries, decompressed; None: any number."""

    messages_max: int | None
    bytes_max: int | None

    def shared(self, waiting: int) -> list["Limit"]:
        """An even share for each partition with something new; at least one message each."""
        messages = (
            [None] * waiting if self.messages_max is None else shares(self.messages_max, waiting)
        )
        sizes = [None] * waiting if self.bytes_max is None else shares(self.bytes_max, waiting)
        return [Limit(*each) for each in zip(messages, sizes, strict=True)]


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

    def behind(self, last: Offset, entries: int) -> int:
        """About how many messages lie between the end and ``last``, so many entries behind it.

        Exact within an entry; of others by what those that were measured had in the mean.
        """
        if self.end is None or not self._entries:
            return entries
        if self.end[:2] == last[:2]:
            return max(last.batch_index - self.end.batch_index, 0)
        return self._left + round(entries * self._in_entries / self._entries)
