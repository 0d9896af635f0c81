"""A run of sends: what one producer sent in one read of its socket, as parallel lists. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby


@dataclass(slots=True)
class SendRun:
    """Consecutive sends of one producer, in the order of the wire, never empty.

    ``data`` are entries: metadata size, metadata, payload, without the checksum's 6-byte head;
    ``checksums`` their CRC32-C, verified. ``sequences`` are the sequence ids as the varints that
    came over the wire, ``highest`` the highest sequence ids likewise (None: no send had one; b"":
    this send had none): receipts echo them and nothing else looks. ``message_counts`` is how many
    messages each entry holds, 0 where only its metadata can tell. ``delayed`` are the entries that
    ask to be delivered later, by index, ascending. Once somebody asked for a sum, a run is not
    changed any more: sums are made once.
    """

    producer_id: int
    sequences: list[bytes]
    data: list[bytes]
    checksums: list[int]
    message_counts: list[int]
    highest: list[bytes] | None = None
    delayed: list[int] = field(default_factory=list)
    _size_bytes: int = field(default=-1, init=False, repr=False, compare=False)
    _message_count: int = field(default=-1, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.data)

    def parted(self) -> Iterator[tuple[bool, "SendRun"]]:
        """The run in pieces: entries that all ask for a delay (True), entries that do not."""
        asking = set(self.delayed)
        for asks, indexes in groupby(range(len(self)), asking.__contains__):
            found = list(indexes)
            yield asks, self._part(found[0], found[-1] + 1)

    def _part(self, start: int, stop: int) -> "SendRun":
        return SendRun(
            self.producer_id,
            self.sequences[start:stop],
            self.data[start:stop],
            self.checksums[start:stop],
            self.message_counts[start:stop],
            self.highest[start:stop] if self.highest is not None else None,
        )

    @property
    def size_bytes(self) -> int:
        """Of all entries."""
        if self._size_bytes < 0:
            self._size_bytes = sum(map(len, self.data))
        return self._size_bytes

    @property
    def message_count(self) -> int:
        """Of all entries, as far as it is known."""
        if self._message_count < 0:
            self._message_count = sum(self.message_counts)
        return self._message_count
