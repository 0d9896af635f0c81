from pathlib import Path

import pytest
from unit.storage.ledger.local.support import salt, stamp

from magnetar.storage.ledger.local.segment_format import PAGE, Contents, decode_header
from magnetar.storage.ledger.local.segments import (
    TRANSITIONS,
    Notes,
    Segment,
    Segments,
    SegmentState,
    Spare,
)
from magnetar.storage.ledger.local.settings import LocalLedgerSettings

SIZE = 64 * 1024
SETTINGS = LocalLedgerSettings(segment_size=SIZE, segments_spare_max=2)


@pytest.fixture
def segments():
    return Segments(Path("/data"), SETTINGS, salt)


def begin(segments, state=SegmentState.ACTIVE, *, live=0, used=0, room=100):
    """A segment in which something landed."""
    segment = segments.begin(1, room)[0]
    segment.tail = segment.answered = segment.start + used
    segment.live = live
    segment.state = state
    return segment


def test_generations_ascend(segments):
    assert [begin(segments).generation for _ in range(3)] == [1, 2, 3]


def test_every_segment_has_a_salt_of_its_own():
    salts = iter([b"the one.", b"another."])
    segments = Segments(Path("/data"), SETTINGS, lambda: next(salts))
    for expected in (b"the one.", b"another."):
        segment, _, header = segments.begin(1, 100)
        assert segment.stamp.salt == decode_header(header).stamp.salt == expected


def test_generations_go_on_behind_those_found(segments):
    segments.adopt([Segment(stamp(9), segments.path(9), PAGE, SIZE, PAGE, PAGE)], [])
    assert begin(segments).generation == 10
    assert segments[9].path == Path("/data/segment-0000000009.log")


def test_names_of_files_are_not_used_twice(segments):
    segments.adopt([], [Spare(Path("/data/spare-0000000041.log"), recycled=True)])
    assert segments.new_name() == Path("/data/spare-0000000042.log")
    assert segments.new_name() == Path("/data/spare-0000000043.log")


def spare(number, *, recycled=True):
    return Spare(Path(f"/data/spare-{number:010}.log"), recycled)


def test_a_spare_file_is_used_first(segments):
    segments.add_spare(spare(7))
    segment, source, header = segments.begin(1, 100)
    assert source == Path("/data/spare-0000000007.log")
    assert segment.size == SIZE
    assert decode_header(header).recycled
    assert segments.spares == []
    assert segments.begin(1, 100)[1] != source


def test_the_spare_recycled_last_is_used_first_and_one_allocated_last(segments):
    segments.add_spare(spare(1))
    segments.add_spare(spare(2, recycled=False))
    segments.add_spare(spare(3))
    begun = [segments.begin(1, 100) for _ in range(3)]
    assert [source for _, source, _ in begun] == [spare(n).path for n in (3, 1, 2)]
    assert [decode_header(header).recycled for _, _, header in begun] == [True, True, False]


def test_a_full_disk_gets_back_all_spares_but_one(segments):
    sealed = begin(segments, SegmentState.SEALED)
    segments.add_spare(spare(1))
    segments.add_spare(spare(2))
    assert segments.surplus() == []
    segments.disk_full = True
    assert segments.surplus() == [spare(1)]
    assert segments.spares == [spare(2)]
    assert segments.spare_name(sealed) is None
    segments.begin(1, 100)
    assert segments.spare_name(sealed) is not None


def test_a_disk_that_could_allocate_is_not_full(segments):
    segments.disk_full = True
    segments.add_spare(spare(1))
    assert segments.disk_full  # A recycled file says nothing about it.
    segments.add_spare(spare(2, recycled=False))
    assert not segments.disk_full


def test_a_large_record_gets_a_segment_of_its_size(segments):
    segments.add_spare(spare(7))
    segment, _, header = segments.begin(1, 10 * SIZE)
    assert segment.size == 10 * SIZE + PAGE
    assert not decode_header(header).recycled
    assert len(segments.spares) == 1


def test_a_header_tells_of_ids_deletions_and_ends(segments):
    begin(segments, SegmentState.SEALED, used=1000)
    begin(segments, SegmentState.FULL, used=2000)
    begin(segments, SegmentState.ABANDONED, used=0)
    segments.begin_delete(5)
    header = decode_header(segments.begin(77, 100)[2])
    assert header.next_ledger_id == 77
    assert header.deleted == [5]
    assert header.ends == {2: PAGE + 2000, 3: PAGE}


def test_a_segment_without_life_is_dead(segments):
    dead = begin(segments, SegmentState.SEALED, used=100)
    begin(segments, SegmentState.SEALED, used=100, live=1)
    unanswered = begin(segments, SegmentState.FULL, used=100)
    unanswered.tail += 50
    full = begin(segments, SegmentState.FULL, used=100)
    abandoned = begin(segments, SegmentState.ABANDONED)
    pinned = begin(segments, SegmentState.SEALED, used=100)
    pinned.pins = 1
    begin(segments, used=100)
    assert segments.dead() == [dead, full, abandoned]


def test_the_newest_header_on_disk_stays(segments):
    segment = begin(segments, SegmentState.SEALED, used=100)
    assert segments.dead() == []
    begin(segments)  # Begun, but nothing landed there yet.
    assert segments.dead() == []
    begin(segments, used=100)
    assert segment in segments.dead()


def test_the_sparsest_segment_is_compacted_first(segments):
    begin(segments, SegmentState.SEALED, used=1000, live=600)
    begin(segments, SegmentState.SEALED, used=1000, live=0)
    begin(segments, SegmentState.SEALED, used=1000, live=300)
    sparsest = begin(segments, SegmentState.SEALED, used=1000, live=200)
    begin(segments, SegmentState.STUCK, used=1000, live=100)
    begin(segments, SegmentState.FULL, used=1000, live=100)
    assert segments.sparse(0.5) is sparsest
    assert segments.sparse(0.1) is None


def test_only_whole_and_trusted_files_are_kept_as_spares(segments):
    sealed = begin(segments, SegmentState.SEALED)
    large = begin(segments, SegmentState.SEALED, room=10 * SIZE)
    assert segments.spare_name(sealed) is not None
    assert segments.spare_name(begin(segments, SegmentState.FULL)) is not None
    assert segments.spare_name(large) is None
    assert segments.spare_name(begin(segments, SegmentState.ABANDONED)) is None
    segments.spares += [spare(1), spare(2)]
    assert segments.spare_name(sealed) is None


def test_a_spare_is_prepared_when_a_quarter_is_written(segments):
    segment = begin(segments, used=SIZE // 8)
    assert not segments.wants_spare(segment)
    segment.tail = SIZE // 3
    assert segments.wants_spare(segment)
    segments.add_spare(spare(1))
    assert not segments.wants_spare(segment)


def test_no_spare_is_prepared_where_none_is_wanted():
    settings = LocalLedgerSettings(segment_size=SIZE, segments_spare_max=0)
    segments = Segments(Path("/data"), settings, salt)
    assert not segments.wants_spare(begin(segments, used=SIZE // 3))


def test_a_life_goes_one_way(segments):
    assert set(TRANSITIONS) == set(SegmentState)
    segment = begin(segments)
    segment.notes.deletions.append(5)
    segment.contents = Contents({}, [5], segment.tail)
    segment.to(SegmentState.SEALED)
    assert (segment.contents, segment.source, segment.notes) == (None, None, Notes())
    segments.forget(segment)
    assert segment.state is SegmentState.FREED
    with pytest.raises(AssertionError, match="FREED to ACTIVE"):
        segment.to(SegmentState.ACTIVE)


def test_a_deletion_is_remembered_until_nothing_is_left_to_delete(segments):
    one, other = begin(segments, SegmentState.FULL), begin(segments, SegmentState.FULL)
    for segment, ledger_id, size in ((one, 5, 10), (one, 6, 20), (other, 5, 30)):
        segment.hold(ledger_id, size)
    segments.begin_delete(5)
    assert (one.live, other.live) == (30, 30)
    segments.end_delete(5)
    assert (one.live, other.live) == (20, 0)
    assert segments.deleted == {5: {1, 2}}
    segments.begin_delete(5)  # Its record could not be written.
    segments.end_delete(5)
    segments.end_delete(5)
    assert (one.live, other.live) == (20, 0)
    segments.forget(one)
    assert segments.deleted == {5: {2}}
    segments.forget(other)
    assert segments.deleted == {}


def test_a_deletion_of_what_is_gone_already_needs_no_memory(segments):
    segments.begin_delete(5)
    segments.end_delete(5)
    assert segments.deleted == {}


def test_a_deletion_under_way_outlives_the_files_of_its_ledger(segments):
    segment = begin(segments, SegmentState.FULL, used=100)
    segment.hold(5, 0)
    segments.begin_delete(5)
    segments.forget(segment)
    assert decode_header(segments.begin(77, 100)[2]).deleted == [5]


def test_a_record_that_lands_late_is_remembered_too(segments):
    one, other = begin(segments), begin(segments)
    one.hold(5, 10)
    segments.begin_delete(5)
    segments.landed_after_delete(5, one)
    assert segments.deleted == {5: None}, "its end counts what is there by then"
    segments.end_delete(5)
    segments.landed_after_delete(5, other)
    assert segments.deleted == {5: {1, 2}}
    segments.landed_after_delete(6, other)
    assert segments.deleted[6] == {2}
