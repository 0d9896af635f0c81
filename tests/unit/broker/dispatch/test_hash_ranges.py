import json
import re
from pathlib import Path

import pytest

from magnetar.broker.dispatch.hash_ranges import (
    AutoSplitRanges,
    ConsistentHashRanges,
    HashRanges,
    StickyRanges,
)
from magnetar.errors import ConsumerAssignFailed

GOLDEN = Path(__file__).parents[3] / "golden" / "wire"
ALL = [ConsistentHashRanges, AutoSplitRanges, StickyRanges]


def tables(name):
    """Ranges by consumer name after each join and leave, as Apache Pulsar 4.0.7 reported them."""
    for line in (GOLDEN / f"{name}.jsonl").read_text().splitlines():
        kind, *rest = json.loads(line)
        if kind == "ranges":
            yield (
                rest[1],
                {
                    consumer: [(start, end) for start, end in ranges]
                    for consumer, ranges in rest[2].items()
                },
            )


@pytest.mark.parametrize(
    ("name", "selector"),
    [
        ("keyshared-ranges-autosplit", AutoSplitRanges()),
        ("keyshared-ranges-consistent", ConsistentHashRanges()),
    ],
)
def test_ranges_follow_pulsars_tables_join_by_join(name, selector: HashRanges[str]):
    seen = 0
    for text, expected in tables(name):
        verb, consumer = re.match(
            r"hash ranges after (join|leave) (?:a second )?(\w+)", text
        ).groups()
        if "second" in text:
            selector.add("second c3", "c3")
        elif verb == "join":
            selector.add(consumer, consumer)
        else:
            selector.remove(consumer)
        ranges = selector.ranges()
        if "second" in text:  # Pulsar's answer is keyed by name: the second hides the first.
            ranges["c3"] = ranges.pop("second c3")
        assert ranges == expected, text
        seen += 1
    assert seen == 10


def test_every_slot_is_owned_by_the_consumer_whose_range_holds_it():
    for selector, first in ((ConsistentHashRanges(), 1), (AutoSplitRanges(), 0)):
        for name in ("c1", "c2", "c3"):
            selector.add(name, name)
        owners = {}
        for consumer, ranges in selector.ranges().items():
            for start, end in ranges:
                owners.update(dict.fromkeys(range(start, end + 1), consumer))
        assert all(selector.select(slot) == owners[slot] for slot in range(first, 65_536))


def test_the_order_of_joins_does_not_matter_on_the_ring():
    forward, backward = ConsistentHashRanges(), ConsistentHashRanges()
    names = ["c1", "c2", "c4", "c5"]  # No two of their points fall together.
    for name in names:
        forward.add(name, name)
    for name in reversed(names):
        backward.add(name, name)
    assert forward.ranges() == backward.ranges()


def test_a_freed_name_index_is_taken_by_the_next_of_that_name():
    ring = ConsistentHashRanges()
    ring.add(1, "same")
    ring.add(2, "same")
    before = ring.ranges()
    ring.remove(1)
    ring.add(3, "same")
    assert ring.ranges() == {3: before[1], 2: before[2]}


def test_where_points_fall_together_the_first_owns_and_the_next_waits():
    shared = 34_919  # One of c1's points and one of c3's.
    ring = ConsistentHashRanges()
    ring.add("first", "c1")
    ring.add("next", "c3")
    assert ring.select(shared) == "first"
    ring.remove("first")
    assert ring.select(shared) == "next"
    ring.add("first", "c1")
    assert ring.select(shared) == "next"


@pytest.mark.parametrize(
    ("selector", "key", "slot"),
    [
        (ConsistentHashRanges(), b"a", 42456),
        (ConsistentHashRanges(), b"b", 37858),
        (ConsistentHashRanges(), b"c", 14227),
        (ConsistentHashRanges(), b"key", 52449),
        (ConsistentHashRanges(), b"p-10", 1235),
        (ConsistentHashRanges(), b"", 1),
        (AutoSplitRanges(), b"a", 27058),
        (AutoSplitRanges(), b"b", 32259),
        (AutoSplitRanges(), b"c", 54879),
        (AutoSplitRanges(), b"key", 27204),
        (AutoSplitRanges(), b"", 1),
        (AutoSplitRanges(), b"Order-3459134", 6067),
        (StickyRanges(), b"key", 27204),
        (StickyRanges(), b"", 1),
    ],
)
def test_slots_of_keys(selector, key, slot):
    assert selector.slot(key) == slot


@pytest.mark.parametrize("kind", ALL)
def test_without_consumers_nobody_owns_a_slot(kind):
    selector = kind()
    assert selector.select(1) is None
    assert selector.ranges() == {}
    selector.add("c", "c", [(0, 65_535)])
    assert selector.select(1) == "c"
    selector.remove("stranger")
    assert selector.select(1) == "c"
    selector.remove("c")
    assert selector.select(1) is None
    assert selector.ranges() == {}


def test_the_last_of_an_auto_split_leaves_room_for_a_fresh_start():
    split = AutoSplitRanges()
    split.add(1, "c1")
    split.remove(1)
    split.add(2, "c2")
    assert split.ranges() == {2: [(0, 65_536)]}


def test_an_auto_split_without_a_range_to_halve_refuses():
    split = AutoSplitRanges(size=16)
    for consumer in range(16):
        split.add(consumer, "c")
    with pytest.raises(ConsumerAssignFailed, match=r"No more range can assigned .* 16"):
        split.add("one more", "one more")
    assert "one more" not in split.ranges()


def sticky():
    ranges = StickyRanges()
    ranges.add("first", "c1", [(0, 100), (200, 300)])
    ranges.add("second", "c2", [(101, 199)])
    return ranges


def test_sticky_ranges_are_inclusive_and_leave_the_rest_to_nobody():
    ranges = sticky()
    ranges.add("high", "", [(60_000, 65_536)])  # Pulsar takes an end of 65536, too.
    owners = [ranges.select(slot) for slot in (0, 100, 101, 199, 200, 300, 301, 59_999, 60_000)]
    assert owners == ["first"] * 2 + ["second"] * 2 + ["first"] * 2 + [None] * 2 + ["high"]
    assert ranges.ranges() == {
        "first": [(0, 100), (200, 300)],
        "second": [(101, 199)],
        "high": [(60_000, 65_536)],
    }
    ranges.remove("first")
    assert ranges.select(50) is None
    assert ranges.select(150) == "second"


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ([(100, 150)], "Range conflict with consumer first"),
        ([(-1, 5)], "Range conflict with consumer first"),
        ([(0, 65_535)], "Range conflict with consumer first"),
        ([(120, 120)], "Range conflict with consumer second"),
        ([(400, 300)], "Fixed hash range start > end for range: [400,300]"),
        (
            [(550, 700), (500, 600)],
            "Consumer's own ranges conflict: [500,600] overlaps with [550,700]",
        ),
        ([], "Ranges for KeyShared policy must not be empty."),
        (None, "Ranges for KeyShared policy must not be empty."),
    ],
)
def test_sticky_ranges_refuse_in_pulsars_words(wanted, text):
    ranges = sticky()
    before = ranges.ranges()
    with pytest.raises(ConsumerAssignFailed, match=re.escape(text)):
        ranges.add("newcomer", "c9", wanted)
    assert ranges.ranges() == before


def test_a_sticky_conflict_can_be_asked_for_first():
    ranges = sticky()
    assert ranges.conflict([(301, 400)]) is None
    assert ranges.conflict([(301, 400), (150, 160)]) == "second"
