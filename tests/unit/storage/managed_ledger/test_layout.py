import pytest

from magnetar.model.position import EARLIEST, LATEST, Position
from magnetar.storage.managed_ledger.layout import Layout


@pytest.fixture
def layout():
    """Ledger 3 with 10 entries, ledger 5 with 5; ledger 8, open, with 4."""
    made = Layout()
    for ledger_id, last, size in ((3, 9, 1000), (5, 4, 500)):
        made.begin(ledger_id)
        made.grow(last, size)
        made.seal(last, size, 77)
    made.begin(8)
    made.grow(3, 40)
    return made


def test_a_new_log_is_empty():
    layout = Layout()
    assert layout.last == EARLIEST
    assert layout.end == layout.first == (-1, 0)
    assert layout.entry_count == layout.size_bytes == 0
    assert layout.locate(EARLIEST) is None
    assert layout.next_position(EARLIEST) == layout.next_position(LATEST) == layout.end
    assert layout.entries_between(EARLIEST, LATEST) == 0


def test_a_new_log_begins_in_its_first_ledger():
    layout = Layout()
    layout.begin(4)
    assert (layout.last, layout.end, layout.first) == ((4, -1), (4, 0), (4, 0))
    assert layout.next_position(EARLIEST) == layout.next_position(layout.last) == (4, 0)
    assert layout.copy().last == (4, -1)
    layout.seal(-1, 0, 0)
    assert layout.last == EARLIEST


def test_totals(layout):
    assert layout.entry_count == 19
    assert layout.size_bytes == 1540
    assert layout.open_entry_count == 4
    assert layout.ledger_ids == [3, 5, 8]
    assert (layout.first, layout.last, layout.end) == ((3, 0), (8, 3), (8, 4))


@pytest.mark.parametrize(
    ("position", "size"),
    [
        (EARLIEST, 1540),
        ((3, -1), 1540),
        ((3, 0), 1440),
        ((3, 9), 540),
        ((4, 0), 540),
        ((5, 3), 140),
        ((5, 99), 40),
        ((7, 0), 40),
        ((8, -1), 40),
        ((8, 1), 20),
        ((8, 3), 0),
        ((9, 0), 0),
        (LATEST, 0),
    ],
)
def test_what_lies_after_a_place_is_sized(layout, position, size):
    assert layout.size_after(Position(*position)) == size


def test_entries_are_sized_by_the_average():
    """As Pulsar was seen to: 14 of 15 entries of 530 bytes."""
    layout = Layout()
    assert layout.size_after(EARLIEST) == 0
    layout.begin(20)
    assert layout.size_after(Position(20, -1)) == 0
    layout.grow(14, 530)
    assert [layout.size_after(Position(20, last)) for last in (-1, 0, 14)] == [530, 495, 0]
    layout.seal(14, 530, 0)
    assert layout.size_after(Position(20, 0)) == 495


@pytest.mark.parametrize(
    ("position", "found"),
    [
        (EARLIEST, (3, 0)),
        ((3, -1), (3, 0)),
        ((3, 9), (3, 9)),
        ((3, 10), (5, 0)),
        ((4, 7), (5, 0)),
        ((8, 3), (8, 3)),
        ((8, 4), None),
        (LATEST, None),
    ],
)
def test_a_place_is_located_at_the_next_entry(layout, position, found):
    assert layout.locate(Position(*position)) == found


@pytest.mark.parametrize(
    ("position", "following"),
    [
        (EARLIEST, (3, 0)),
        ((3, -1), (3, 0)),
        ((3, 3), (3, 4)),
        ((3, 9), (5, 0)),
        ((5, 4), (8, 0)),
        ((6, 0), (8, 0)),
        ((8, -1), (8, 0)),
        ((8, 3), (8, 4)),
        ((8, 99), (8, 4)),
        (LATEST, (8, 4)),
    ],
)
def test_what_follows_a_place(layout, position, following):
    assert layout.next_position(Position(*position)) == following


@pytest.mark.parametrize(
    ("position", "before"),
    [((3, 0), (3, -1)), ((3, 4), (3, 3)), ((5, 0), (3, 9)), ((8, 0), (5, 4))],
)
def test_what_precedes_a_place(layout, position, before):
    assert layout.previous_position(Position(*position)) == before


@pytest.mark.parametrize(
    ("position", "mark"),
    [
        (EARLIEST, (3, -1)),
        ((3, 4), (3, 3)),
        ((3, 10), (3, 9)),
        ((8, 4), (8, 3)),
        ((9, 9), (8, 3)),
        (LATEST, (8, 3)),
    ],
)
def test_the_mark_of_who_reads_from_a_place_on(layout, position, mark):
    assert layout.mark_before(Position(*position)) == mark


def test_entries_are_counted_across_ledgers(layout):
    between = layout.entries_between
    assert between(EARLIEST, LATEST) == 19
    assert between(Position(3, 9), Position(8, 3)) == 9
    assert between(Position(3, 4), Position(5, 1)) == 7
    assert between(Position(4, 0), Position(7, 0)) == 5
    assert between(Position(3, -1), Position(3, 0)) == 1
    assert between(Position(8, 3), Position(3, 0)) == 0


def test_every_entry_is_found_by_its_index(layout):
    for index in range(layout.entry_count):
        place = layout.position_at(index)
        assert layout.locate(place) == place
        assert layout.entries_before(place) == index
        assert layout.entries_through(place) == index + 1


def test_the_last_entry_of_each_ledger_is_known(layout):
    assert [layout.last_entry_id(ledger_id) for ledger_id in (2, 3, 4, 5, 8, 9)] == [
        None, 9, None, 4, 3, None,
    ]  # fmt: skip


def test_an_empty_open_ledger_changes_no_position(layout):
    layout.seal(3, 40, 78)
    layout.begin(9)
    assert layout.last == (8, 3)
    assert layout.end == (9, 0)
    assert layout.locate(Position(8, 4)) is None
    assert layout.last_entry_id(9) == -1
    assert layout.next_position(Position(8, 3)) == layout.next_position(Position(9, -1)) == (9, 0)
    assert layout.previous_position(layout.end) == (8, 3)
    layout.grow(0, 1)
    assert layout.last == (9, 0)
    assert layout.locate(Position(8, 4)) == (9, 0)
    assert layout.next_position(Position(8, 3)) == (9, 0)


def test_an_empty_ledger_leaves_the_log_when_it_is_sealed(layout):
    layout.seal(3, 40, 78)
    layout.begin(9)
    layout.seal(-1, 0, 79)
    assert layout.ledger_ids == [3, 5, 8]
    assert list(layout.deleting) == [9]
    assert layout.last == (8, 3)


def test_removed_ledgers_leave_their_mark(layout):
    layout.remove([3])
    assert layout.ledger_ids == [5, 8]
    assert layout.trimmed_to == (3, 9)
    assert list(layout.deleting) == [3]
    assert (layout.first, layout.last) == ((5, 0), (8, 3))
    assert layout.entries_between(Position(3, 4), layout.last) == 9
    layout.forget_deleted([3])
    assert list(layout.deleting) == []


def test_a_log_whose_ledgers_are_all_gone_keeps_its_place(layout):
    layout.seal(3, 40, 78)
    layout.remove([3, 5, 8])
    assert layout.entry_count == 0
    assert layout.last == (8, 3)
    assert layout.first == layout.end == (8, 4)
    layout.begin(12)
    assert layout.last == (8, 3)
    assert layout.first == layout.end == (12, 0)
    assert layout.previous_position(layout.end) == (12, -1)
    layout.grow(0, 1)
    assert layout.first == layout.last == layout.next_position(Position(8, 3)) == (12, 0)


def test_a_cleared_log_has_no_ledger_and_names_all_of_them_for_deletion(layout):
    layout.clear()
    assert layout.ledger_ids == []
    assert list(layout.deleting) == [3, 5, 8]
    assert layout.last == (8, 3)
    layout.clear()
    assert list(layout.deleting) == [3, 5, 8]


def test_an_open_ledger_that_never_was_is_dropped(layout):
    layout.drop_open()
    assert layout.last == (5, 4)
    assert layout.ledger_ids == [3, 5]


def test_a_record_gives_the_layout_back(layout):
    layout.remove([3])
    read = Layout.of(layout.record())
    assert read.sealed == layout.sealed
    assert read.open_id == 8
    assert list(read.deleting) == [3]
    assert read.trimmed_to == (3, 9)
    assert read.open_entry_count == 0  # Only its store knows.


def test_a_copy_does_not_follow(layout):
    copy = layout.copy()
    assert (copy.last, copy.size_bytes, copy.entry_count) == ((8, 3), 1540, 19)
    copy.seal(3, 40, 78)
    copy.remove([3])
    layout.grow(7, 10)
    assert layout.ledger_ids == [3, 5, 8]
    assert layout.last == (8, 7)
    assert copy.last == (8, 3)
