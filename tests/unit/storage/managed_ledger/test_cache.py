import pytest
from unit.storage.managed_ledger.logs import entries, run_of

from magnetar.storage.managed_ledger.cache import EntryCache, Lane, part_of

PLENTY = 1 << 30


@pytest.fixture
def lane():
    return Lane(PLENTY)


def shelf_of(lane, *counts, first=0, size=1):
    shelf = lane.shelf()
    for count in counts:
        shelf.append(run_of(3, first, count, size=size), count * size)
        first += count
    return shelf


def test_whoever_reads_the_same_range_gets_the_same_run(lane):
    shelf = lane.shelf()
    run = run_of(3, 0, 10)
    shelf.append(run, 10)
    assert shelf.find(0, 100, PLENTY) is run
    assert shelf.find(0, 10, 10) is run
    assert shelf.find(0, 4, PLENTY) is shelf.find(0, 4, PLENTY)
    assert shelf.find(4, 3, PLENTY) is shelf.find(4, 3, PLENTY)
    assert shelf.find(4, 100, PLENTY) is shelf.find(4, 6, PLENTY)


def test_a_cut_keeps_to_the_limits(lane):
    shelf = shelf_of(lane, 10, size=100)
    assert shelf.find(2, 3, PLENTY).data == entries(3, start=2, size=100)
    assert len(shelf.find(0, 100, 250)) == 2
    assert len(shelf.find(5, 100, 250)) == 2
    assert len(shelf.find(0, 100, 1)) == 1, "at least one"


def test_only_a_few_cuts_are_remembered(lane):
    shelf = shelf_of(lane, 100)
    first = shelf.find(0, 1, PLENTY)
    for entry in range(1, 50):
        shelf.find(entry, 1, PLENTY)
    assert shelf.find(0, 1, PLENTY) is not first
    assert 0 < len(shelf.find(0, 100, PLENTY).parts) < 20, "cuts are remembered with their run"


def test_what_is_not_there_is_not_found(lane):
    shelf = shelf_of(lane, 5, first=10)
    assert lane.shelf().find(0, 1, 1) is None
    assert shelf.find(9, 1, 1) is None
    assert shelf.find(15, 1, 1) is None
    assert shelf.find(-1, 1, 1) is None


def test_the_whole_run_that_has_an_entry_is_found(lane):
    shelf = lane.shelf()
    assert shelf.holding(0) is None
    run = run_of(3, 10, 500)
    shelf.append(run, 500)
    assert shelf.holding(10) is shelf.holding(509) is run
    assert (shelf.holding(9), shelf.holding(510)) == (None, None)
    for entry in range(510, 520):
        shelf.append(run_of(3, entry, 1), 1)
    small = shelf.holding(513)
    assert (small.first_entry_id, len(small)) == (513, 7), "small ones behind it are merged"


def test_small_runs_are_read_as_one(lane):
    shelf = shelf_of(lane, *[1] * 50)
    run = shelf.find(10, 20, PLENTY)
    assert (run.first_entry_id, run.data) == (10, entries(20, start=10))
    assert shelf.find(10, 20, PLENTY) is run, "and the next reader gets the same"
    assert shelf.find(0, 3, PLENTY).data == entries(3)
    assert [shelf.find(entry, 1, PLENTY).data[0] for entry in range(50)] == entries(50)


def test_merging_keeps_to_the_limits_of_the_read(lane):
    shelf = shelf_of(lane, *[2] * 20, size=10)
    assert len(shelf.find(0, 5, PLENTY)) == 4
    assert len(shelf.find(4, 100, 70)) == 6


def test_large_runs_are_left_alone(lane):
    shelf = shelf_of(lane, 100, 100)
    assert len(shelf.find(0, 1000, PLENTY)) == 100
    heavy = shelf_of(lane, 1, 1, size=100_000)
    assert len(heavy.find(0, 1000, PLENTY)) == 1


def test_runs_with_a_gap_between_them_stay_apart(lane):
    shelf = lane.shelf()
    shelf.append(run_of(3, 0, 2), 2)
    shelf.append(run_of(3, 5, 2), 2)
    assert len(shelf.find(0, 100, PLENTY)) == 2
    assert shelf.find(3, 100, PLENTY) is None


def test_runs_that_readers_have_passed_are_merged(lane):
    shelf = lane.shelf()
    runs = [run_of(3, entry, 1) for entry in range(1000)]
    for run in runs:
        shelf.append(run, 1)
    assert shelf.find(999, 1, PLENTY) is runs[999], "the newest runs are left as they are"
    assert len(shelf.find(0, 1, PLENTY)) == 1
    old = shelf.find(64, 64, PLENTY)
    assert old.data == entries(64, start=64)
    assert old.traits.message_counts == [1] * 64
    assert lane.size_bytes < 1000 * 701, "each run costs, so merging gives memory back"


def test_a_large_run_that_readers_have_passed_forgets_its_cuts(lane):
    shelf = lane.shelf()
    runs = [run_of(3, entry * 100, 100) for entry in range(200)]
    for run in runs:
        shelf.append(run, 100)
        assert len(shelf.find(run.first_entry_id, 10, PLENTY)) == 10
    assert runs[0].parts is None
    assert len(runs[-1].parts) == 1
    assert shelf.find(0, 100, PLENTY) is runs[0]


def test_what_is_cold_can_be_merged_on_and_dropped(lane):
    shelf = lane.shelf()
    first = 0
    for index in range(1000):
        count = (1, 63, 64)[index % 3]
        shelf.append(run_of(3, first, count), count)
        first += count
    found, place = [], 0
    while run := shelf.find(place, 200, PLENTY):
        found += run.data
        place = run.last_entry_id + 1
    assert found == entries(first)
    lane.size_bytes_max = lane.size_bytes // 2
    while shelf.find(first - 1, 1, PLENTY) and shelf.find(0, 1, PLENTY):
        shelf.append(run_of(3, first, 1), 1)
        first += 1
    for entry in range(first, first + 500):
        shelf.append(run_of(3, entry, 1), 1)
        assert shelf.find(entry, 1, PLENTY).data == entries(1, start=entry)
    assert lane.size_bytes <= lane.size_bytes_max
    lane.size_bytes_max = 0
    lane.shrink()
    assert lane.size_bytes == 0


def test_a_cold_run_may_be_merged_with_a_warm_one(lane):
    shelf = shelf_of(lane, *[1] * 63, 64, *[1] * 64)
    assert len(shelf.find(0, 1000, PLENTY)) == 63, "63 cold ones; the next is too large"
    small = shelf_of(lane, 64, *[64] * 62, 5, *[5] * 64)
    assert len(small.find(63 * 64, 1000, PLENTY)) == 325, "a cold one with what follows"
    assert small.find(63 * 64 + 324, 1000, PLENTY).data == entries(1, start=63 * 64 + 324)


def test_the_oldest_run_of_all_shelves_goes_first():
    lane = Lane(4 * 1700)  # Four runs of 1,000 bytes with their overhead.
    one, two = lane.shelf(), lane.shelf()
    for index, shelf in enumerate((one, two, one, two, one, two)):
        shelf.append(run_of(3, index, 1, size=1000), 1000)
    assert lane.size_bytes <= lane.size_bytes_max
    held = [[entry for entry in range(6) if shelf.find(entry, 1, PLENTY)] for shelf in (one, two)]
    assert held == [[2, 4], [3, 5]]


def test_a_run_beyond_the_bound_is_not_kept():
    lane = Lane(1000)
    shelf = shelf_of(lane, 1, size=2000)
    assert shelf.find(0, 1, PLENTY) is None
    assert lane.size_bytes == 0
    shelf.append(run_of(3, 1, 1), 1)
    assert shelf.find(1, 1, PLENTY) is not None


def test_the_bound_is_kept_whatever_comes():
    lane = Lane(200_000)
    shelves = [lane.shelf() for _ in range(7)]
    for step in range(3000):
        shelf = shelves[step * step % 7]
        count, size = step % 90 + 1, step % 40
        shelf.append(run_of(3, step * 100, count, size=size), count * size)
        assert lane.size_bytes <= lane.size_bytes_max
    for shelf in shelves:
        shelf.clear()
    assert lane.size_bytes == 0


def test_a_cleared_shelf_gives_its_memory_back_and_can_be_used_again(lane):
    shelf = shelf_of(lane, 5, 5)
    shelf.clear()
    shelf.clear()
    assert lane.size_bytes == 0
    shelf.append(run_of(3, 20, 5), 5)
    assert len(shelf.find(20, 10, PLENTY)) == 5


def test_shelves_that_come_and_go_leave_nothing_behind(lane):
    for _ in range(10_000):
        shelf_of(lane, 3).clear()
    assert len(lane._oldest) < 1000
    kept = shelf_of(lane, 3)
    lane.size_bytes_max = 0
    lane.shrink()
    assert kept.find(0, 1, 1) is None
    assert lane.size_bytes == 0


def test_runs_from_anywhere_find_their_place(lane):
    shelf = lane.shelf()
    for first in (500, 0, 900, 300):
        shelf.insert(run_of(3, first, 100), 100)
    assert [bool(shelf.find(first, 1, 1)) for first in (0, 100, 300, 399, 400, 500, 999)] == [
        True, False, True, True, False, True, True,
    ]  # fmt: skip
    assert shelf.first_after(0) == 300
    assert shelf.first_after(299) == 300
    assert shelf.first_after(900) is None


def test_what_overlaps_is_not_taken_twice(lane):
    shelf = lane.shelf()
    shelf.insert(run_of(3, 100, 100), 100)
    before = lane.size_bytes
    for first, count in ((150, 100), (50, 51), (199, 1), (0, 500)):
        shelf.insert(run_of(3, first, count), count)
    assert lane.size_bytes == before
    shelf.insert(run_of(3, 200, 10), 10)
    shelf.insert(run_of(3, 90, 10), 10)
    assert lane.size_bytes > before


def test_out_of_order_the_oldest_still_goes_first():
    lane = Lane(3 * 1700)
    shelf = lane.shelf()
    for first in (5, 1, 3, 0):
        shelf.insert(run_of(3, first, 1, size=1000), 1000)
    assert [entry for entry in range(6) if shelf.find(entry, 1, PLENTY)] == [0, 1, 3]


def test_a_part_of_everything_is_the_run():
    run = run_of(3, 0, 4)
    assert part_of(run, 0, 10, PLENTY) is run
    assert part_of(run, 1, 10, PLENTY) is part_of(run, 1, 3, PLENTY)


def test_what_is_read_back_does_not_push_out_what_was_appended():
    cache = EntryCache(40_000)
    appended = shelf_of(cache.appended, 1, size=1000)
    for index in range(100):
        cache.reread.shelf().insert(run_of(4, index, 1, size=1000), 1000)
    assert appended.find(0, 1, PLENTY) is not None
    assert cache.size_bytes <= 40_000
