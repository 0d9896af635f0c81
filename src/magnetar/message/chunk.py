"""One message in many entries: cut it up, and put it together again. Pure.

The chunks of a message come in order, though not always one right after the other, and not always
once: a producer that lost its connection repeats what had no receipt, and a broker redelivers.
"""

from typing import Final

from magnetar.errors import CorruptEntry
from magnetar.late_dataclass import dataclass
from magnetar.model.position import Position

from .metadata import ChunkInfo

EVICTED_MAX: Final = 1_000
"""Messages that had to make room and are remembered, so that their later chunks are let pass.

As many chunks are remembered that came without those before them.
"""


def split(payload: bytes, size_max: int) -> list[bytes]:
    """The payload in chunks of ``size_max`` bytes, the last one smaller; at least one."""
    assert size_max > 0, "a chunk needs room for at least one byte"
    return [payload[at : at + size_max] for at in range(0, len(payload) or 1, size_max)]


@dataclass(slots=True)
class _Beginning:
    """A message of which some chunks are there: all before a certain one."""

    place: ChunkInfo  # of the first chunk
    positions: list[Position]
    parts: list[bytes]
    size: int
    since: float  # when the first chunk came


class Reassembly:
    """Puts the chunked messages of one consumer together.

    Holds at most ``messages_max`` incomplete ones, each for at most ``age_max_s`` seconds and of
    at most ``size_max`` bytes; the oldest goes first. One that had to make room is not lost: its
    chunks stay unacknowledged, and it is put together when they are delivered again; with
    ``drop_oldest`` they are dropped. One that took too long is dropped, or with ``redeliver`` comes
    again. A chunk whose beginning is not there is dropped; where chunks may come ``out_of_order``
    it comes again once, as it may have overtaken the others.
    """

    _beginnings: dict[str, _Beginning]  # By uuid, the oldest first.

    def __init__(
        self,
        *,
        messages_max: int,
        age_max_s: float,
        size_max: int,
        redeliver: bool = False,
        drop_oldest: bool = False,
        out_of_order: bool = False,
        evicted_max: int = EVICTED_MAX,
    ) -> None:
        self._messages_max = messages_max
        self._age_max_s = age_max_s
        self._size_max = size_max
        self._redeliver = redeliver
        self._drop_oldest = drop_oldest
        self._out_of_order = out_of_order
        self._beginnings = {}
        self._dropped: list[Position] = []
        self._evicted_max = evicted_max
        self._evicted: dict[str, None] = {}  # The latest to be; at most ``evicted_max``.
        self._early: dict[Position, None] = {}  # Chunks that came before others: as many.
        self._again: list[Position] = []  # Their chunks that came and went.
        self._again_at = 0.0  # When these are to be asked for again, if there are any.

    def add(
        self, place: ChunkInfo, part: bytes, position: Position, now: float
    ) -> tuple[bytes, tuple[Position, ...]] | None:
        """Take one chunk. When it was the last: the payload, and where all of its chunks lie.

        Raises CorruptEntry for a chunk that contradicts itself or the ones before it, and for one
        of too large a message; such a chunk is not kept.
        """
        self.expire(now)
        if not 0 <= place.index < place.count:
            raise CorruptEntry(f"chunk {place.index} of {place.count}")
        if place.total_size > self._size_max:
            raise CorruptEntry(
                f"a chunked message of {place.total_size} bytes; {self._size_max} are accepted"
            )
        if place.index == 0:
            self._begin(place, position, now)
        beginning = self._beginnings.get(place.uuid)
        if beginning is None or place.index > len(beginning.parts):
            self._too_early(place.uuid, position, now)
            return None
        if place.index < len(beginning.parts):
            if position != beginning.positions[place.index]:
                self._dropped.append(position)  # Sent twice. Delivered twice is no matter.
            return None
        beginning.positions.append(position)
        beginning.parts.append(part)
        beginning.size += len(part)
        complete = place.index == place.count - 1
        if beginning.size > place.total_size or (complete and beginning.size < place.total_size):
            self._drop(place.uuid)
            self._dropped.remove(position)
            raise CorruptEntry(f"{beginning.size} bytes of chunks instead of {place.total_size}")
        if not complete:
            return None
        del self._beginnings[place.uuid]
        return b"".join(beginning.parts), tuple(beginning.positions)

    def take_dropped(self) -> list[Position]:
        """The entries, since the last call, of which no message will come: to be acknowledged."""
        dropped, self._dropped = self._dropped, []
        return dropped

    def take_again(self, now: float) -> list[Position]:
        """The entries of messages that had to make room, some time ago: to be asked for again."""
        if not self._again or now < self._again_at:
            return []
        again, self._again = self._again, []
        return again

    @property
    def due(self) -> float | None:
        """When ``expire`` or ``take_again`` has something to do; None when nothing waits."""
        times = [self._again_at] if self._again else []
        if self._beginnings:
            times.append(next(iter(self._beginnings.values())).since + self._age_max_s)
        return min(times, default=None)

    def first(self, uuid: str) -> Position | None:
        """Where the first chunk of an incomplete message lies."""
        beginning = self._beginnings.get(uuid)
        return beginning.positions[0] if beginning is not None else None

    def clear(self) -> None:
        """Forget everything: it will be delivered again."""
        self._again.clear()
        self._beginnings.clear()
        self._dropped.clear()
        self._evicted.clear()
        self._early.clear()

    def _begin(self, place: ChunkInfo, position: Position, now: float) -> None:
        before = self._beginnings.get(place.uuid)
        if before is not None:
            if before.positions[0] == position:
                del self._beginnings[place.uuid]  # Redelivered, and so will be what follows it.
            else:
                self._drop(place.uuid)
        self._evicted.pop(place.uuid, None)
        while len(self._beginnings) >= self._messages_max:
            oldest = next(iter(self._beginnings))
            if self._drop_oldest:
                self._drop(oldest)
            else:
                self._evict(oldest, now, self._age_max_s)
        self._beginnings[place.uuid] = _Beginning(place, [], [], 0, now)

    def expire(self, now: float) -> None:
        """Give up the messages that took too long."""
        while self._beginnings:
            uuid, oldest = next(iter(self._beginnings.items()))
            if now - oldest.since < self._age_max_s:
                return
            if self._redeliver:
                self._evict(uuid, now)
            else:
                self._drop(uuid)

    def _evict(self, uuid: str, now: float, delay_s: float = 0.0) -> None:
        """Make room. The message is whole on the broker, so nothing of it is acknowledged."""
        self._ask_again(self._beginnings.pop(uuid).positions, now, delay_s)
        while len(self._evicted) >= self._evicted_max:
            del self._evicted[next(iter(self._evicted))]
        self._evicted[uuid] = None

    def _too_early(self, uuid: str, position: Position, now: float) -> None:
        """Ask again for a chunk that came without those before it, or drop what came so far."""
        if uuid not in self._evicted:
            if not self._out_of_order or position in self._early:
                self._early.pop(position, None)
                self._drop(uuid)
                self._dropped.append(position)
                return
            while len(self._early) >= self._evicted_max:
                del self._early[next(iter(self._early))]
            self._early[position] = None
            if uuid in self._beginnings:
                self._evict(uuid, now, self._age_max_s)
        self._ask_again([position], now, self._age_max_s)

    def _ask_again(self, positions: list[Position], now: float, delay_s: float = 0.0) -> None:
        """Ask for these after a while: at once they would make others go."""
        if not self._again:
            self._again_at = now + delay_s
        self._again += positions

    def _drop(self, uuid: str) -> None:
        beginning = self._beginnings.pop(uuid, None)
        if beginning is not None:
            self._dropped += beginning.positions
