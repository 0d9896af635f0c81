"""Which segment files exist, what in them is alive, and when one may go. No I/O.

A segment is written from front to back, then sealed with a footer. When the last live record in it
is gone, the file is recycled: overwriting what is already on disk syncs twice as fast as growing a
file, for a quarter of the CPU. Where there is nothing to recycle, one file is allocated ahead.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple, Self

from magnetar.late_dataclass import dataclass

from .format import GENERATION_MAX, Stamp, location
from .segment_format import Contents, Group, encode_header
from .settings import LocalLedgerSettings


class SegmentState(Enum):
    """The states of a segment."""

    ACTIVE = "takes records, or did when the store was last open"
    FULL = "takes no more; has no footer yet"
    SEALED = "has a footer"
    STUCK = (
        "has a footer; what is alive in it cannot be moved away: it is damaged, or being deleted"
    )
    ABANDONED = "a write or sync failed: only what had been answered by then is believed"
    FREED = "its file is gone, or kept for a later segment"


TRANSITIONS: Final[Mapping[SegmentState, frozenset[SegmentState]]] = {
    SegmentState.ACTIVE: frozenset(
        {SegmentState.FULL, SegmentState.SEALED, SegmentState.ABANDONED}
    ),
    SegmentState.FULL: frozenset({SegmentState.SEALED, SegmentState.ABANDONED, SegmentState.FREED}),
    SegmentState.SEALED: frozenset({SegmentState.STUCK, SegmentState.FREED}),
    SegmentState.STUCK: frozenset({SegmentState.FREED}),
    SegmentState.ABANDONED: frozenset({SegmentState.FREED}),
    SegmentState.FREED: frozenset(),
}
"""Which states may follow each."""


@dataclass(slots=True)
class Notes:
    """What is in a segment that the index does not tell: for its footer.

    The ledgers whose creation or end is recorded in it, the blocks that do not lie in the order of
    their ledger (compaction moved them here, or recovery found them), and the deletions.
    """

    created: set[int] = field(default_factory=set)
    ended: set[int] = field(default_factory=set)
    groups: dict[int, Group] = field(default_factory=dict)
    deletions: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, contents: Contents) -> Self:
        """All that was found in a segment."""
        groups = contents.groups
        return cls(
            {ledger_id for ledger_id, group in groups.items() if group.created},
            {ledger_id for ledger_id, group in groups.items() if group.ended_at is not None},
            groups,
            contents.deletions,
        )


@dataclass(slots=True, eq=False)
class Segment:
    """One file of the log."""

    stamp: Stamp
    path: Path
    start: int  # Where the first record lies.
    size: int  # Where the next record goes to another segment.
    tail: int  # Where the next record goes.
    answered: int  # Invariant: <= tail; everything before it was answered, and not with an error.
    source: Path | None = None  # The file it was made of, while that may still be there.
    state: SegmentState = SegmentState.ACTIVE
    synced: int = 0  # Invariant: <= answered, save for marks; everything before it is on disk.
    # Of each ledger with records in it, the bytes that somebody may ask for; 0 of deleted ones.
    ledgers: dict[int, int] = field(default_factory=dict)
    live: int = 0  # Invariant: the sum of those bytes.
    pins: int = 0  # How many reads of it are under way.
    notes: Notes = field(default_factory=Notes)
    contents: Contents | None = None  # What its footer is to say, from when it is full.
    generation: int = field(init=False)  # As in the stamp.
    base: int = field(init=False)  # The location of its first byte.

    def __post_init__(self) -> None:
        self.generation = self.stamp.generation
        self.base = location(self.generation, 0)

    def hold(self, ledger_id: int, size: int) -> None:
        """Note a record of a ledger in it; ``size`` bytes of that are alive."""
        self.ledgers[ledger_id] = self.ledgers.get(ledger_id, 0) + size
        self.live += size

    def release(self, ledger_id: int, size: int) -> None:
        """Note that ``size`` bytes of a ledger in it are dead."""
        self.ledgers[ledger_id] -= size
        self.live -= size

    def to(self, state: SegmentState) -> None:
        """Change its state."""
        assert state in TRANSITIONS[self.state], f"{self.path}: {self.state.name} to {state.name}"
        self.state = state
        if state is SegmentState.SEALED:
            self.source = None
            self.notes = Notes()  # The footer says it now.
            self.contents = None

    @property
    def complete(self) -> bool:
        """Whether nothing more is to be written to it, by whatever is under way."""
        return self.state is not SegmentState.ACTIVE and self.answered == self.tail

    @property
    def used(self) -> int:
        """Bytes of records, dead or alive."""
        return self.tail - self.start


def newest_mark(path: Path) -> Path:
    """The empty file beside a segment by which it is missed when it is gone."""
    return path.with_name(path.stem.replace("segment", "newest"))


class Spare(NamedTuple):
    """A file of the right size for a later segment."""

    path: Path
    recycled: bool  # It was a segment. Otherwise it is allocated and empty.


class Segments:
    """All segments of a store, and the deleted ledgers that still have records in some."""

    def __init__(
        self, folder: Path, settings: LocalLedgerSettings, salt: Callable[[], bytes]
    ) -> None:
        """``salt`` makes eight unguessable bytes."""
        self._salt = salt
        self.folder = folder
        self.segment_size = settings.segment_size
        self.spare_max = settings.segments_spare_max
        self.spares: list[Spare] = []  # Invariant: recycled ones first, the next to take first.
        self.disk_full = False  # The disk was full when we last asked for room.
        # Ledger id to segments with records of it; to None while the deletion is under way.
        self.deleted: dict[int, set[int] | None] = {}
        self._next_generation = 1
        self._next_file = 1
        self._all: dict[int, Segment] = {}

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._all.values())

    def __getitem__(self, generation: int) -> Segment:
        return self._all[generation]

    def get(self, generation: int) -> Segment | None:
        return self._all.get(generation)

    def path(self, generation: int) -> Path:
        return self.folder / f"segment-{generation:010}.log"

    def new_name(self) -> Path:
        """A name for a file that is no segment yet, or no longer one."""
        self._next_file += 1
        return self.folder / f"spare-{self._next_file:010}.log"

    def spare_name(self, dead: Segment) -> Path | None:
        """The new name of a dead segment's file that is kept for later; None if it is not kept."""
        trusted = dead.state is not SegmentState.ABANDONED and dead.size == self.segment_size
        return self.new_name() if trusted and len(self.spares) < self._spare_limit else None

    def add_spare(self, spare: Spare) -> None:
        """Keep a file. The one recycled last is taken first: its pages are still in memory."""
        if spare.recycled:
            self.spares.insert(0, spare)
        else:
            self.spares.append(spare)
            self.disk_full = False

    def surplus(self) -> list[Spare]:
        """Take out the spares that a full disk needs back."""
        extra = self.spares[self._spare_limit :]
        del self.spares[self._spare_limit :]
        return extra

    @property
    def _spare_limit(self) -> int:
        """How many to keep; on a full disk one, since the disk is not ours alone."""
        return min(1, self.spare_max) if self.disk_full else self.spare_max

    def adopt(self, segments: Collection[Segment], spares: Collection[Spare]) -> None:
        """Begin with what recovery found."""
        self._all = {segment.generation: segment for segment in segments}
        self._next_generation = max(self._all, default=0) + 1
        self.spares = list(spares)
        self._next_file = max((int(spare.path.stem[6:]) for spare in spares), default=0)

    def begin(self, next_ledger_id: int, room: int) -> tuple[Segment, Path, bytes]:
        """The next segment, with room for a record of ``room`` bytes.

        Returns it with the file to make it of and the header to write there.
        """
        generation = self._next_generation
        assert generation <= GENERATION_MAX, "the log is longer than its format can count"
        self._next_generation += 1
        ends = {
            segment.generation: segment.tail
            for segment in self
            if segment.state not in (SegmentState.SEALED, SegmentState.STUCK)
        }
        fits = self.spares and room <= self.segment_size // 2
        spare = self.spares.pop(0) if fits else Spare(self.new_name(), recycled=False)
        stamp = Stamp(generation, self._salt())
        header = encode_header(
            stamp,
            next_ledger_id,
            sorted(self.deleted),
            ends,
            recycled=spare.recycled,
        )
        start = len(header)
        size = max(self.segment_size, start + room)
        path = self.path(generation)
        segment = Segment(stamp, path, start, size, start, start, spare.path)
        segment.synced = start
        self._all[generation] = segment
        return segment, spare.path, header

    def begin_delete(self, ledger_id: int) -> None:
        """Let segments that begin from now on say that the ledger is deleted."""
        self.deleted[ledger_id] = None

    def end_delete(self, ledger_id: int) -> None:
        """Count the records of a deleted ledger as dead, and remember which segments hold some."""
        holding = [segment for segment in self if ledger_id in segment.ledgers]
        for segment in holding:
            segment.release(ledger_id, segment.ledgers[ledger_id])
        self.deleted[ledger_id] = {segment.generation for segment in holding}
        if not holding:
            del self.deleted[ledger_id]

    def landed_after_delete(self, ledger_id: int, segment: Segment) -> None:
        """Remember that a record landed in ``segment`` although its ledger is (being) deleted."""
        generations = self.deleted.setdefault(ledger_id, set())
        if generations is not None:  # Otherwise ``end_delete`` will count the segment.
            generations.add(segment.generation)

    def wants_spare(self, active: Segment) -> bool:
        """Whether it is time to prepare the file of the next segment."""
        return not self.spares and self.spare_max > 0 and 4 * active.used > self.segment_size

    def forget(self, segment: Segment) -> None:
        """Forget a segment whose file is gone for good."""
        segment.to(SegmentState.FREED)
        del self._all[segment.generation]
        for ledger_id in segment.ledgers:
            generations = self.deleted.get(ledger_id)
            if generations is not None:
                generations.discard(segment.generation)
                if not generations:
                    del self.deleted[ledger_id]

    def dead(self) -> list[Segment]:
        """Segments whose files may go, sealed or not.

        Only those before the newest that is on disk: its header knows of every deletion and every
        id given away in them.
        """
        newest = max((s.generation for s in self if s.answered > s.start), default=0)
        return [
            segment
            for segment in self
            if segment.live == 0
            and not segment.pins
            and segment.complete
            and segment.generation < newest
        ]

    def sparse(self, share: float) -> Segment | None:
        """The sealed segment with the least alive in it, if that is below ``share``."""
        candidates = [
            segment
            for segment in self
            if segment.state is SegmentState.SEALED and 0 < segment.live < share * segment.used
        ]
        return min(candidates, key=lambda s: s.live / s.used, default=None)
