from magnetar.storage.managed_ledger.entry_ranges import EntryRanges, ranges_of


def pairs(ranges):
    return list(zip(ranges.starts, ranges.ends, strict=True))


def of(*ranges):
    made = EntryRanges()
    for first, last in ranges:
        made.add(first, last)
    return made


def test_ranges_that_touch_become_one():
    assert pairs(of((5, 6), (1, 2), (3, 4))) == [(1, 6)]
    assert pairs(of((5, 6), (1, 2))) == [(1, 2), (5, 6)]
    assert pairs(of((1, 2), (8, 9), (5, 5), (0, 20))) == [(0, 20)]


def test_adding_says_how_many_entries_are_new():
    ranges = of((1, 2), (5, 6))
    assert ranges.add(2, 5) == 2
    assert ranges.add(1, 6) == 0
    assert ranges.add(10, 10) == 1
    assert pairs(ranges) == [(1, 6), (10, 10)]


def test_dropping_from_below_says_how_many_entries_went():
    ranges = of((1, 2), (5, 9))
    assert ranges.drop_through(0) == 0
    assert ranges.drop_through(6) == 4
    assert pairs(ranges) == [(7, 9)]
    assert ranges.drop_through(9) == 3
    assert not ranges


def test_the_start_of_a_range_is_found_from_anywhere_in_it():
    ranges = EntryRanges()
    ranges.add(2, 4)
    ranges.add(7, 7)
    found = [ranges.start_of(entry) for entry in range(1, 9)]
    assert found == [None, 2, 2, 2, None, None, 7, None]


def test_the_end_of_a_range_is_found_from_anywhere_in_it():
    ranges = of((1, 2), (5, 9))
    assert [ranges.end_of(entry) for entry in (0, 1, 2, 3, 5, 7, 9, 10)] == [
        None, 2, 2, None, 9, 9, 9, None,
    ]  # fmt: skip


def test_gaps_are_what_is_between():
    ranges = of((1, 2), (5, 9))
    assert ranges.gaps(0, 12) == [(0, 0), (3, 4), (10, 12)]
    assert ranges.gaps(5, 9) == []
    assert ranges.gaps(2, 6) == [(3, 4)]
    assert ranges.gaps(10, 9) == []


def test_entries_become_the_fewest_ranges_whatever_their_order():
    assert ranges_of([3, 1, 2, 2, 7, 9, 8]) == [(1, 3), (7, 9)]
    assert ranges_of([1, 1, 3]) == [(1, 1), (3, 3)], "a repeat does not hide a gap"
    assert ranges_of([2]) == [(2, 2)]
