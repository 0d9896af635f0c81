"""Hash ranges under consumers that come and go: they tile the space, and only what must moves."""

from bisect import bisect_right
from itertools import pairwise
from operator import itemgetter

from hypothesis import given
from hypothesis import strategies as st

from magnetar.broker.dispatch.hash_ranges import (
    RING_SIZE,
    SPLIT_SIZE,
    AutoSplitRanges,
    ConsistentHashRanges,
    StickyRanges,
)
from magnetar.errors import ConsumerAssignFailed

comings_and_goings = st.lists(st.integers(0, 7), min_size=1, max_size=20)
"""Consumers by number: one that is there goes, and one that is not comes."""
some_ranges = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=3)


def in_order(ranges):
    """All ranges with their owners, ascending."""
    return sorted((start, end, owner) for owner, its in ranges.items() for start, end in its)


def owners(ranges):
    """The owner of each slot."""
    return {slot: owner for start, end, owner in in_order(ranges) for slot in range(start, end + 1)}


def assert_tiled(ranges, first, last):
    found = in_order(ranges)
    assert (found[0][0], found[-1][1]) == (first, last)
    assert all(end + 1 == start for (_, end, _), (start, _, _) in pairwise(found))


@given(comings_and_goings)
def test_split_ranges_tile_the_space_and_change_only_at_one_place(steps):
    split, present = AutoSplitRanges(), set()
    for consumer in steps:
        before = in_order(split.ranges())
        if consumer in present:
            present.remove(consumer)
            split.remove(consumer)
            expected = merged(before, consumer)
        else:
            present.add(consumer)
            split.add(consumer, f"c{consumer}")
            expected = halved(before, consumer)
        after = split.ranges()
        assert in_order(after) == expected
        assert after.keys() == present
        if present:
            assert_tiled(after, 0, SPLIT_SIZE)
            for start, end, owner in expected:
                assert split.select(start) == split.select(end) == owner


def halved(before, consumer):
    """A newcomer takes the lower half of the largest range, the lowest one of several."""
    if not before:
        return [(0, SPLIT_SIZE, consumer)]
    sizes = [end - (start - 1 if start else 0) for start, end, _ in before]
    at = sizes.index(max(sizes))
    start, end, owner = before[at]
    middle = end - sizes[at] // 2
    return [*before[:at], (start, middle, consumer), (middle + 1, end, owner), *before[at + 1 :]]


def merged(before, consumer):
    """A leaver's range merges into its right neighbour, the topmost one into its left."""
    at = next(i for i, (_, _, owner) in enumerate(before) if owner == consumer)
    start, end, _ = before[at]
    if len(before) == 1:
        return []
    if at == len(before) - 1:
        left, _, owner = before[at - 1]
        return [*before[: at - 1], (left, end, owner)]
    _, right, owner = before[at + 1]
    return [*before[:at], (start, right, owner), *before[at + 2 :]]


@given(comings_and_goings, st.integers(1, 20))
def test_a_ring_is_tiled_and_only_the_slots_of_who_comes_or_goes_move(steps, points):
    ring, present, before = ConsistentHashRanges(points), set(), []
    for consumer in steps:
        if consumer in present:
            present.remove(consumer)
            ring.remove(consumer)
        else:
            present.add(consumer)
            ring.add(consumer, f"c{consumer % 3}")  # Names repeat.
        after = in_order(ring.ranges())
        if present:
            assert_tiled(ring.ranges(), 1, RING_SIZE)
            assert all(ring.select(start) == ring.select(end) == own for start, end, own in after)
        if before and after:
            for slot in {start for start, _, _ in [*before, *after]}:
                old, new = owner_of(slot, before), owner_of(slot, after)
                assert old == new or consumer in (old, new)
        before = after


def owner_of(slot, ranges):
    return ranges[bisect_right(ranges, slot, key=itemgetter(0)) - 1][2]


@given(st.lists(st.tuples(st.integers(0, 5), some_ranges), max_size=12))
def test_declared_ranges_are_disjoint_and_nobody_else_s_slots_are_owned(steps):
    sticky, declared = StickyRanges(), {}
    for consumer, ranges in steps:
        taken = [slot for its in declared.values() for slot in slots_of(its)]
        wanted = slots_of(ranges)
        if consumer in declared:
            sticky.remove(consumer)
            del declared[consumer]
            continue
        acceptable = all(start <= end for start, end in ranges)
        acceptable = acceptable and len(set(wanted)) == len(wanted) and not {*wanted} & {*taken}
        try:
            sticky.add(consumer, "c", ranges)
            assert acceptable
            declared[consumer] = ranges
        except ConsumerAssignFailed:
            assert not acceptable
    expected = {slot: owner for owner, its in declared.items() for slot in slots_of(its)}
    assert owners(sticky.ranges()) == expected
    assert [sticky.select(slot) for slot in range(45)] == [expected.get(s) for s in range(45)]


def slots_of(ranges):
    return [slot for start, end in ranges for slot in range(start, end + 1)]
