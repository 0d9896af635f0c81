from itertools import chain, groupby, pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.client.consumers.entry import Entry
from magnetar.client.message import Delivery
from magnetar.message.metadata import ChunkInfo
from magnetar.model.position import Position
from magnetar.spark.offsets import NOTHING_READ, Offset
from magnetar.spark.planning import Range
from magnetar.spark.range_progress import RangeProgress

SIZES = {}


def entries(offsets):
    """What a reader receives: of each entry the messages it is to begin or end with."""
    for position, group in groupby(offsets, lambda offset: offset[:2]):
        indexes = [offset.batch_index for offset in group]
        size = SIZES[position]
        metadata = SimpleNamespace(chunk=None)
        delivery = Delivery("t", Position(*position), -1, size, metadata, 0, redelivered=False)
        wanted = sum(1 << index for index in indexes) if size else None
        yield Entry(delivery, b"", wanted)


def log(entries):
    """Offsets of a log: (ledger, entry, messages of the batch or None)."""
    offsets = []
    for ledger_id, entry_id, size in entries:
        indices = [-1] if size is None else range(size)
        SIZES[ledger_id, entry_id] = size or 0
        offsets += [Offset(ledger_id, entry_id, index) for index in indices]
    return offsets


LOG = log([(3, 0, None), (3, 1, 3), (3, 2, None), (7, 0, 2), (7, 1, None)])


def taken(progress, *received):
    return [
        Offset(*entry.delivery.position, index)
        for entry in progress.take(chain.from_iterable(map(entries, received)))
        for index in entry.indexes
    ]


def test_only_what_is_in_the_range_is_taken():
    progress = RangeProgress(Range("t", LOG[1], LOG[5]))
    assert taken(progress, LOG[1:4]) == LOG[2:4]
    assert not progress.done
    assert not progress.found_end
    assert taken(progress, LOG[4:]) == LOG[4:6]
    assert progress.done
    assert progress.found_end


def test_a_batch_is_divided_between_two_ranges():
    first = RangeProgress(Range("t", NOTHING_READ, LOG[2]))
    second = RangeProgress(Range("t", LOG[2], LOG[-1]))
    assert taken(first, LOG) + taken(second, LOG) == LOG
    assert LOG[2] == Offset(3, 1, 1)


@given(st.data())
def test_any_ranges_and_any_lists_give_each_message_once(data):
    places = [Offset.before(Position(*position)) for position in SIZES]
    cuts = data.draw(st.lists(st.sampled_from([*LOG[:-1], *places]), unique=True).map(sorted))
    ends = [NOTHING_READ, *cuts, LOG[-1]]
    found = []
    for after, upto in pairwise(ends):
        progress = RangeProgress(Range("t", after, upto))
        start = next(n for n, offset in enumerate(LOG) if offset >= after)
        while not progress.done:
            size = data.draw(st.integers(1, 4))
            # A reader that reconnects begins again a little before the place it had reached.
            back = data.draw(st.integers(0, 2))
            found += taken(progress, LOG[max(0, start - back) : start + size])
            start += size
        assert progress.begins_where_it_should
        assert progress.found_end
    assert found == LOG


def test_what_comes_twice_in_one_list_is_taken_once():
    progress = RangeProgress(Range("t", NOTHING_READ, LOG[-1]))
    assert taken(progress, LOG[:3], LOG[1:5]) == LOG[:5]


def test_a_read_that_begins_at_the_last_message_proves_that_nothing_is_missing():
    progress = RangeProgress(Range("t", LOG[2], LOG[-1]))
    taken(progress, LOG[2:4])
    assert progress.begins_where_it_should


def test_a_read_that_begins_later_proves_nothing():
    progress = RangeProgress(Range("t", LOG[2], LOG[-1]))
    taken(progress, LOG[4:])
    assert not progress.begins_where_it_should


@pytest.mark.parametrize(
    ("after", "begins"),
    [(NOTHING_READ, True), (Offset(3, -1), False), (Offset(7, -1), True), (LOG[4], False)],
)
def test_a_range_after_a_place_begins_in_the_ledger_behind_it(after, begins):
    progress = RangeProgress(Range("t", after, LOG[-1]))
    taken(progress, LOG[5:])
    assert progress.begins_where_it_should == begins


def test_a_range_is_done_when_a_later_message_comes():
    progress = RangeProgress(Range("t", LOG[0], LOG[4]))
    assert taken(progress, LOG[6:]) == []
    assert progress.done
    assert not progress.found_end
    assert progress.reached == LOG[-1]


def mixed(data):
    """A log of messages in one to four chunks each, in any mixture; chunk ``2`` of ``a3``."""
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    waiting = [[(name, index, size) for index in range(size)] for name, size in enumerate(sizes)]
    found = []
    while any(waiting):
        found.append(data.draw(st.sampled_from([each for each in waiting if each])).pop(0))
    return found


def chunk(entry_id, name, index, size):
    place = ChunkInfo(f"m{name}", index, size, size) if size > 1 else None
    metadata = SimpleNamespace(chunk=place, publish_time_ms=0, compression=0)
    delivery = Delivery("t", Position(1, entry_id), -1, 0, metadata, 0, redelivered=False)
    return Entry(delivery, b"%d" % index)


@given(st.data())
def test_each_message_in_chunks_is_in_the_range_of_its_last_one(data):
    log = mixed(data)
    last = len(log) - 1
    cuts = data.draw(st.sets(st.integers(0, last - 1)).map(sorted)) if last else []
    found = []
    for after, upto in pairwise([-1, *cuts, last]):
        begin = Offset(1, after) if after >= 0 else NOTHING_READ
        progress = RangeProgress(Range("t", begin, Offset(1, upto)))
        start, back = max(after, 0), 0
        while not progress.done:
            received = [chunk(at, *log[at]) for at in range(start, last + 1)]
            found += [entry.delivery.position.entry_id for entry in progress.take(received)]
            if progress.lacking is not None:
                back += 1
                start = max(progress.lacking.position.entry_id - back, 0)
                progress.begin_again()
        assert progress.found_end
    whole = [at for at, (_, index, size) in enumerate(log) if index == size - 1]
    assert found == whole
