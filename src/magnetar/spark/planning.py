"""Which part of which partition a batch reads. Pure.

A batch is a set of ranges ``(after, upto]``, one per partition that has something new. How much
there is of a partition cannot be told from ids (a ledger's length and a batch's size are not in
them), so a limit is shared out first, and the shares are then measured by reading (``topics.py``).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from magnetar.errors import EntryNotFound, InvalidValue
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST_MESSAGE, MessageId
from magnetar.spark.offsets import NOTHING_READ, Offset, Offsets
from magnetar.spark.read_options import AT_TIME, EARLIEST, LATEST, NamedOffsets


@dataclass(frozen=True, slots=True)
class Range:
    """The messages of ``topic`` after ``after``, up to and with ``upto``; never empty."""

    topic: str
    after: Offset
    upto: Offset

    @property
    def start_id(self) -> MessageId:
        """Where to begin reading: at the message that was read last, or the first that was not."""
        return self._id_at(self.after)

    @property
    def end_id(self) -> MessageId:
        """The range's last message, or the first one beyond it."""
        return self._id_at(self.upto)

    def _id_at(self, offset: Offset) -> MessageId:
        partition = TopicName.parse(self.topic).partition_index
        if offset == NOTHING_READ:
            return EARLIEST_MESSAGE
        if offset.is_place:
            return MessageId(offset.ledger_id, offset.entry_id + 1, partition)
        return MessageId(offset.ledger_id, offset.entry_id, partition, offset.batch_index)


def resolve(
    named: NamedOffsets,
    last: Mapping[str, Offset | None],
    before: Callable[[str, int], Offset | None],
    *,
    otherwise: str,
) -> dict[str, Offset]:
    """``earliest``, ``latest``, times and offsets by name: an offset for each one in ``last``.

    ``before`` says of a partition and a publish time what lies before that, None when all does.
    A partitioned topic's name stands for its partitions. Who is not named gets ``otherwise``.
    Raises InvalidValue for a name that is not being read, and for an offset beyond the end.
    """
    places = {name: named if isinstance(named, str) else otherwise for name in last}
    for name, place in {} if isinstance(named, str) else named.items():
        meant = [
            each for each in last if name in (each, str(TopicName.parse(each).partitioned_name))
        ]
        if not meant:
            raise InvalidValue(f"offsets are given for {name}, which is not among {sorted(last)}")
        if meant != [name] and _is_offset(place):
            raise InvalidValue(f"{name} has partitions: give an offset for each of {sorted(meant)}")
        places.update(dict.fromkeys(meant, place))
    return {name: _resolved(name, place, last[name], before) for name, place in places.items()}


def ranges(start: Offsets, end: Offsets, *, made_anew: bool = False) -> list[Range]:
    """What lies between two offsets: a partition that ``start`` does not know is read whole.

    With ``made_anew`` so is one whose end lies in an entry before its start, see ``advance``.
    """
    found = []
    for topic in sorted(end):
        after = start.get(topic, NOTHING_READ)
        if made_anew and end[topic][:2] < after[:2]:
            after = NOTHING_READ
        if end[topic] > after:
            found.append(Range(topic, after, end[topic]))
    return found


def cut(wanted: Range, places: Iterable[Offset]) -> list[Range]:
    """The range in pieces that end at those of ``places`` that lie in it."""
    inside = sorted({place for place in places if wanted.after < place < wanted.upto})
    ends = [wanted.after, *inside, wanted.upto]
    return [Range(wanted.topic, after, upto) for after, upto in pairwise(ends)]


def times_between(first_ms: int, last_ms: int, count: int) -> list[int]:
    """The times that divide what was published from one time to another in ``count`` pieces."""
    length_ms = last_ms - first_ms
    times = {first_ms + length_ms * index // count for index in range(1, count)}
    return sorted(time_ms for time_ms in times if first_ms < time_ms <= last_ms)


def advance(
    start: Offsets,
    last: Mapping[str, Offset | None],
    *,
    fail_on_data_loss: bool,
    asked_for: Callable[[str], bool],
) -> dict[str, Offset]:
    """Where a batch that begins at ``start`` may end, given each partition's last message.

    A partition without messages (None) stays where it is, and so does one that vanished. One that
    ends before ``start`` was deleted and made anew, and is read from its beginning. Where data may
    not be lost, both raise EntryNotFound, and say of one that is not ``asked_for`` any more that.
    """
    end = dict(start)
    for topic, offset in last.items():
        before = start.get(topic, NOTHING_READ)
        anew = offset is not None and offset[:2] < before[:2]
        if anew and fail_on_data_loss:
            raise EntryNotFound(
                f"{topic} ends at {offset}, but was already read up to {before}: it was deleted "
                "and created again. Start with a new checkpoint, or set failOnDataLoss=false to "
                "read the new one from its beginning"
            )
        end[topic] = offset if offset is not None and (anew or offset >= before) else before
    gone = [topic for topic in start if topic not in last]
    if gone and fail_on_data_loss:
        topic = gone[0]
        raise EntryNotFound(
            f"{topic} {_went(topic, start[topic], asked_for)}. "
            + ("Start" if asked_for(topic) else "Name it again, start")
            + " with a new checkpoint, or set failOnDataLoss=false to go on without it"
        )
    return end


def _went(topic: str, before: Offset, asked_for: Callable[[str], bool]) -> str:
    if asked_for(topic):
        return f"was read up to {before} and is gone"
    return f"was read up to {before} and is no longer asked for by the options of the query"


def lost(
    start: Offsets, last: Mapping[str, Offset | None], asked_for: Callable[[str], bool]
) -> dict[str, str]:
    """What ``advance`` goes on without, where data may be lost: by topic, and in words."""
    said = {}
    for topic, before in start.items():
        offset = last.get(topic)
        if topic not in last:
            said[topic] = f"it {_went(topic, before, asked_for)}"
        elif offset is not None and offset[:2] < before[:2]:
            said[topic] = f"it was read up to {before} and made anew; it is read up to {offset}"
    return said


def shares(total: int, sizes: Sequence[float]) -> list[int]:
    """Share out a limit in proportion to what waits in each partition, but at least one each."""
    beyond_one = total - len(sizes)
    whole = sum(sizes)
    if beyond_one <= 0 or not whole:
        each, rest = divmod(max(total, len(sizes)), max(len(sizes), 1))
        return [each + (index < rest) for index in range(len(sizes))]
    # The ends of the shares, laid side by side, are rounded: so they make up the whole.
    exact = [max(total * size / whole - 1, 0.0) for size in sizes]
    ends = [round(end * beyond_one / sum(exact)) for end in accumulate(exact, initial=0.0)]
    return [1 + end - start for start, end in pairwise(ends)]


def _is_offset(place: str) -> bool:
    return place not in (EARLIEST, LATEST) and not place.startswith(AT_TIME)


def _resolved(
    name: str, place: str, last: Offset | None, before: Callable[[str, int], Offset | None]
) -> Offset:
    if place == EARLIEST:
        return NOTHING_READ
    end = NOTHING_READ if last is None else last
    if place == LATEST:
        return end
    if place.startswith(AT_TIME):
        place_then = None if last is None else before(name, int(place.removeprefix(AT_TIME)))
        return place_then or end
    offset = Offset.parse(place)
    if offset > end:
        raise InvalidValue(f"offset {offset} of {name} is beyond its last message, {end}")
    return offset
