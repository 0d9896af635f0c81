"""Which part of which partition a batch reads. Pure.

A batch is a set of ranges ``(after, upto]``, one per partition that has something new. How much
there is of a partition cannot be told from ids (a ledger's length and a batch's size are not in
them), so a limit is shared out first, and the shares are then measured by reading (``topics.py``).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from magnetar.errors import EntryNotFound, InvalidValue
from magnetar.model.names import TopicName
from magnetar.spark.offsets import NOTHING_READ, Offset, Offsets
from magnetar.spark.options import EARLIEST, LATEST, NamedOffsets


@dataclass(frozen=True, slots=True)
class Range:
    """The messages of ``topic`` after ``after``, up to and with ``upto``; never empty."""

    topic: str
    after: Offset
    upto: Offset


def resolve(
    named: NamedOffsets, last: Mapping[str, Offset | None], *, otherwise: str
) -> dict[str, Offset]:
    """``earliest``, ``latest`` and offsets by name, as an offset for each partition in ``last``.

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
        if meant != [name] and place not in (EARLIEST, LATEST):
            raise InvalidValue(f"{name} has partitions: give an offset for each of {sorted(meant)}")
        places.update(dict.fromkeys(meant, place))
    return {name: _resolved(name, place, last[name]) for name, place in places.items()}


def ranges(start: Offsets, end: Offsets) -> list[Range]:
    """What lies between two offsets: a partition that ``start`` does not know is read whole."""
    found = []
    for topic in sorted(end):
        after = start.get(topic, NOTHING_READ)
        if end[topic] > after and end[topic].names_a_message:
            found.append(Range(topic, after, end[topic]))
    return found


def advance(
    start: Offsets, last: Mapping[str, Offset | None], *, fail_on_data_loss: bool
) -> dict[str, Offset]:
    """Where a batch that begins at ``start`` may end, given each partition's last message.

    A partition without messages (None) stays where it is. So does one that vanished, and one that
    ends before ``start``: the topic was deleted and made anew, which raises EntryNotFound when
    data may not be lost.
    """
    end = dict(start)
    for topic, offset in last.items():
        before = start.get(topic, NOTHING_READ)
        if offset is not None and offset >= before:
            end[topic] = offset
            continue
        end[topic] = before
        if offset is not None and before.names_a_message and fail_on_data_loss:
            raise EntryNotFound(
                f"{topic} ends at {offset}, but was already read up to {before}: it was deleted "
                "and created again. Start with a new checkpoint, or set failOnDataLoss=false to "
                "wait until the topic has grown past that place"
            )
    gone = [topic for topic in start if topic not in last]
    if gone and fail_on_data_loss:
        raise EntryNotFound(
            f"{gone[0]} was read up to {start[gone[0]]} and is gone. Start with a new checkpoint, "
            "or set failOnDataLoss=false to go on without it"
        )
    return end


def shares(total: int, waiting: int) -> list[int]:
    """Share out a limit between ``waiting`` partitions, evenly, but at least one message each."""
    if not waiting:
        return []
    each, rest = divmod(total, waiting)
    return [max(1, each + (index < rest)) for index in range(waiting)]


def _resolved(name: str, place: str, last: Offset | None) -> Offset:
    if place == EARLIEST:
        return NOTHING_READ
    end = NOTHING_READ if last is None else last
    if place == LATEST:
        return end
    offset = Offset.parse(place)
    if offset > end:
        raise InvalidValue(f"offset {offset} of {name} is beyond its last message, {end}")
    return offset
