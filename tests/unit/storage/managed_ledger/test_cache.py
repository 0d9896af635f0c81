import gc

import pytest
from unit.storage.managed_ledger.logs import entries, run_of

from magnetar.storage.managed_ledger.cache import EntryCache, EvictionQueue, LedgerCache, part_of

PLENTY = 1 << 30


@pytest.fixture
def queue():
    return EvictionQueue(PLENTY)


def cache_of(queue, *counts, first=0, size=1):
    cache = LedgerCache(queue)
    for count in counts:
        cache.append(run_of(3, first, count, size=size))
        first += count
    return cache


def test_whoever_reads_the_same_range_gets_the_same_run(queue):
    cache = LedgerCache(queue)
    run = run_of(3, 0, 10)
    cache.append(run)
    assert cache.find(0, 100, PLENTY) is run
    assert cache.find(0, 10, 10) is run
    assert cache.find(0, 4, PLENTY) is cache.find(0, 4, PLENTY)
    assert cache.find(4, 3, PLENTY) is cache.find(4, 3, PLENTY)
    assert cache.find(4, 100, PLENTY) is cache.find(4, 6, PLENTY)


def test_a_cut_keeps_to_the_limits(queue):
    cache = cache_of(queue, 10, size=100)
    assert cache.find(2, 3, PLENTY).data == entries(3, start=2, size=100)
    assert len(cache.find(0, 100, 250)) == 2
    assert len(cache.find(5, 100, 250)) == 2
    assert len(cache.find(0, 100, 1)) == 1, "at least one"


def test_only_a_few_cuts_are_remembered(queue):
    cache = cache_of(queue, 100)
    first = cache.find(0, 1, PLENTY)
    for entry in range(1, 50):
        cache.find(entry, 1, PLENTY)
    assert cache.find(0, 1, PLENTY) is not first
    assert 0 < len(cache.find(0, 100, PLENTY).parts) < 20, "cuts are remembered with their run"


def test_what_is_not_there_is_not_found(queue):
    cache = cache_of(queue, 5, first=10)
    assert LedgerCache(queue).find(0, 1, 1) is None
    assert cache.find(9, 1, 1) is None
    assert cache.find(15, 1, 1) is None
    assert cache.find(-1, 1, 1) is None


def test_the_whole_run_that_has_an_entry_is_found(queue):
    cache = LedgerCache(queue)
    assert cache.holding(0) is None
    run = run_of(3, 10, 500)
    cache.append(run)
    assert cache.holding(10) is cache.holding(509) is run
    assert (cache.holding(9), cache.holding(510)) == (None, None)
    for entry in range(510, 520):
        cache.append(run_of(3, entry, 1))
    small = cache.holding(513)
    assert (small.first_entry_id, len(small)) == (513, 7), "small ones behind it are merged"


def test_small_runs_are_read_as_one(queue):
    cache = cache_of(queue, *[1] * 50)
    run = cache.find(10, 20, PLENTY)
    assert (run.first_entry_id, run.data) == (10, entries(20, start=10))
    assert cache.find(10, 20, PLENTY) is run, "and the next reader gets the same"
    assert cache.find(0, 3, PLENTY).data == entries(3)
    assert [cache.find(entry, 1, PLENTY).data[0] for entry in range(50)] == entries(50)


def test_merging_keeps_to_the_limits_of_the_read(queue):
    cache = cache_of(queue, *[2] * 20, size=10)
    assert len(cache.find(0, 5, PLENTY)) == 4
    assert len(cache.find(4, 100, 70)) == 6


def test_large_runs_are_left_alone(queue):
    cache = cache_of(queue, 100, 100)
    assert len(cache.find(0, 1000, PLENTY)) == 100
    heavy = cache_of(queue, 1, 1, size=100_000)
    assert len(heavy.find(0, 1000, PLENTY)) == 1


def test_runs_with_a_gap_between_them_stay_apart(queue):
    cache = LedgerCache(queue)
    cache.append(run_of(3, 0, 2))
    cache.append(run_of(3, 5, 2))
    assert len(cache.find(0, 100, PLENTY)) == 2
    assert cache.find(3, 100, PLENTY) is None


def test_runs_that_readers_have_passed_are_merged(queue):
    cache = LedgerCache(queue)
    runs = [run_of(3, entry, 1) for entry in range(1000)]
    for run in runs:
        cache.append(run)
    assert cache.find(999, 1, PLENTY) is runs[999], "the newest runs are left as they are"
    assert len(cache.find(0, 1, PLENTY)) == 1
    old = cache.find(64, 64, PLENTY)
    assert old.data == entries(64, start=64)
    assert old.traits.message_counts == [1] * 64
    assert queue.size_bytes < 1000 * 701, "each run costs, so merging gives memory back"


def test_a_large_run_that_readers_have_passed_forgets_its_cuts(queue):
    cache = LedgerCache(queue)
    runs = [run_of(3, entry * 100, 100) for entry in range(200)]
    for run in runs:
        cache.append(run)
        assert len(cache.find(run.first_entry_id, 10, PLENTY)) == 10
    assert runs[0].parts is None
    assert len(runs[-1].parts) == 1
    assert cache.find(0, 100, PLENTY) is runs[0]


def test_what_is_cold_can_be_merged_on_and_dropped(queue):
    cache = LedgerCache(queue)
    first = 0
    for index in range(1000):
        count = (1, 63, 64)[index % 3]
        cache.append(run_of(3, first, count))
        first += count
    found, place = [], 0
    while run := cache.find(place, 200, PLENTY):
        found += run.data
        place = run.last_entry_id + 1
    assert found == entries(first)
    queue.size_bytes_max = queue.size_bytes // 2
    while cache.find(first - 1, 1, PLENTY) and cache.find(0, 1, PLENTY):
        cache.append(run_of(3, first, 1))
        first += 1
    for entry in range(first, first + 500):
        cache.append(run_of(3, entry, 1))
        assert cache.find(entry, 1, PLENTY).data == entries(1, start=entry)
    assert queue.size_bytes <= queue.size_bytes_max
    queue.size_bytes_max = 0
    queue.evict()
    assert queue.size_bytes == 0


def test_a_cold_run_may_be_merged_with_a_warm_one(queue):
    cache = cache_of(queue, *[1] * 63, 64, *[1] * 64)
    assert len(cache.find(0, 1000, PLENTY)) == 63, "63 cold ones; the next is too large"
    small = cache_of(queue, 64, *[64] * 62, 5, *[5] * 64)
    assert len(small.find(63 * 64, 1000, PLENTY)) == 325, "a cold one with what follows"
    assert small.find(63 * 64 + 324, 1000, PLENTY).data == entries(1, start=63 * 64 + 324)


def test_the_oldest_run_of_all_caches_goes_first():
    queue = EvictionQueue(4 * 1700)  # Four runs of 1,000 bytes with their overhead.
    one, two = LedgerCache(queue), LedgerCache(queue)
    for index, cache in enumerate((one, two, one, two, one, two)):
        cache.append(run_of(3, index, 1, size=1000))
    assert queue.size_bytes <= queue.size_bytes_max
    held = [[entry for entry in range(6) if cache.find(entry, 1, PLENTY)] for cache in (one, two)]
    assert held == [[2, 4], [3, 5]]


def test_a_run_beyond_the_bound_is_not_kept():
    queue = EvictionQueue(1000)
    cache = cache_of(queue, 1, size=2000)
    assert cache.find(0, 1, PLENTY) is None
    assert queue.size_bytes == 0
    cache.append(run_of(3, 1, 1))
    assert cache.find(1, 1, PLENTY) is not None


def test_the_bound_is_kept_whatever_comes():
    queue = EvictionQueue(200_000)
    caches = [LedgerCache(queue) for _ in range(7)]
    for step in range(3000):
        cache = caches[step * step % 7]
        count, size = step % 90 + 1, step % 40
        cache.append(run_of(3, step * 100, count, size=size))
        assert queue.size_bytes <= queue.size_bytes_max
    for cache in caches:
        cache.clear()
    assert queue.size_bytes == 0


def test_a_cleared_cache_gives_its_memory_back_and_can_be_used_again(queue):
    cache = cache_of(queue, 5, 5)
    cache.clear()
    cache.clear()
    assert queue.size_bytes == 0
    cache.append(run_of(3, 20, 5))
    assert len(cache.find(20, 10, PLENTY)) == 5


def test_caches_that_come_and_go_leave_nothing_behind(queue):
    def caches():
        gc.collect()
        return sum(isinstance(each, LedgerCache) for each in gc.get_objects())

    before = caches()
    for _ in range(1000):
        cache_of(queue, 3).clear()
    assert caches() <= before
    kept = cache_of(queue, 3)
    queue.size_bytes_max = 0
    queue.evict()
    assert kept.find(0, 1, 1) is None
    assert queue.size_bytes == 0


def test_runs_from_anywhere_find_their_place(queue):
    cache = LedgerCache(queue)
    for first in (500, 0, 900, 300):
        cache.insert(run_of(3, first, 100))
    assert [bool(cache.find(first, 1, 1)) for first in (0, 100, 300, 399, 400, 500, 999)] == [
        True, False, True, True, False, True, True,
    ]  # fmt: skip
    assert cache.first_after(0) == 300
    assert cache.first_after(299) == 300
    assert cache.first_after(900) is None


def test_what_overlaps_is_not_taken_twice(queue):
    cache = LedgerCache(queue)
    cache.insert(run_of(3, 100, 100))
    before = queue.size_bytes
    for first, count in ((150, 100), (50, 51), (199, 1), (0, 500)):
        cache.insert(run_of(3, first, count))
    assert queue.size_bytes == before
    cache.insert(run_of(3, 200, 10))
    cache.insert(run_of(3, 90, 10))
    assert queue.size_bytes > before


def test_out_of_order_the_oldest_still_goes_first():
    queue = EvictionQueue(3 * 1700)
    cache = LedgerCache(queue)
    for first in (5, 1, 3, 0):
        cache.insert(run_of(3, first, 1, size=1000))
    assert [entry for entry in range(6) if cache.find(entry, 1, PLENTY)] == [0, 1, 3]


def test_a_part_of_everything_is_the_run():
    run = run_of(3, 0, 4)
    assert part_of(run, 0, 10, PLENTY) is run
    assert part_of(run, 1, 10, PLENTY) is part_of(run, 1, 3, PLENTY)


def test_what_is_read_back_does_not_push_out_what_was_appended():
    cache = EntryCache(40_000)
    appended = cache_of(cache.appended, 1, size=1000)
    for index in range(100):
        LedgerCache(cache.reread).insert(run_of(4, index, 1, size=1000))
    assert appended.find(0, 1, PLENTY) is not None
    assert cache.size_bytes <= 40_000
