import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import InvalidValue
from magnetar.model.bundles import (
    BUNDLES_MAX,
    RING_END,
    Bundle,
    Bundles,
    halved,
    halved_by_count,
    split_where,
)
from magnetar.model.names import NamespaceName, TopicName

NAMESPACE = NamespaceName("t", "n")
FOUR = ["0x00000000", "0x40000000", "0x80000000", "0xc0000000", "0xffffffff"]


def test_even_bundles_are_those_of_pulsar():
    assert Bundles.even(4).to_json() == {"boundaries": FOUR, "numBundles": 4}
    assert Bundles.even(2).to_json()["boundaries"] == ["0x00000000", "0x80000000", "0xffffffff"]
    assert Bundles.even(1).to_json()["boundaries"] == ["0x00000000", "0xffffffff"]
    assert Bundles.even(3).to_json()["boundaries"][1:3] == ["0x55555555", "0xaaaaaaaa"]


@pytest.mark.parametrize("count", [0, -1, BUNDLES_MAX + 1])
def test_a_number_of_bundles_beyond_the_bounds_is_refused(count):
    with pytest.raises(InvalidValue):
        Bundles.even(count)


@pytest.mark.parametrize(
    "sent", [{}, {"numBundles": 0}, {"numBundles": -1}, {"numBundles": None}, {"boundaries": []}]
)
def test_bundles_left_to_us_are_four(sent):
    assert Bundles.from_json(sent).to_json()["boundaries"] == FOUR


@pytest.mark.parametrize(
    "boundaries",
    [["0x00000000"], ["0x00000000", "0x80000000"], ["0x1", "0xffffffff"], ["zzz"], [1, 2]],
)
def test_boundaries_that_do_not_tile_the_ring_are_refused(boundaries):
    with pytest.raises(InvalidValue, match="Invalid bundle boundaries"):
        Bundles.from_json({"boundaries": boundaries})


def test_boundaries_are_put_in_order():
    sent = ["0xffffffff", "0x80000000", "0x00000000", "0x80000000"]
    assert Bundles.from_json({"boundaries": sent}) == Bundles.even(2)


# What a Pulsar 4.0.7 broker answered.
@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("persistent://golden/topics/data", "0x80000000_0xc0000000"),
        ("persistent://golden/topics/none", "0x40000000_0x80000000"),
        ("persistent://golden/ex/t", "0x40000000_0x80000000"),  # Its hash is 1501389178.
        ("persistent://golden/topics/p1-partition-2", "0x00000000_0x40000000"),
        ("persistent://golden/topics/p2-partition-1", "0x00000000_0x40000000"),
        ("persistent://golden/topics/t3", "0x00000000_0x40000000"),
    ],
)
def test_a_topic_lies_in_the_bundle_where_pulsar_has_it(topic, expected):
    assert Bundles.even(4).bundle_of(TopicName.parse(topic)).range == expected


@pytest.mark.parametrize("count", [1, 2, 7])
def test_every_hash_lies_in_a_bundle_also_the_first_and_the_last(count):
    bundles = Bundles.even(count)
    first = TopicName.parse("persistent://public/default/PkPaboE")  # CRC-32 0x00000000
    last = TopicName.parse("persistent://public/default/ME6ajal")  # CRC-32 0xffffffff
    assert bundles.bundle_of(first).range.startswith("0x00000000_")
    assert bundles.bundle_of(last).range.endswith("_0xffffffff")


@given(
    st.sets(st.integers(1, RING_END - 1), max_size=20),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip),
)
def test_bundles_tile_the_ring(cuts, local):
    bundles = Bundles((0, *sorted(cuts), RING_END))
    topic = TopicName("persistent", "t", "n", local)
    bundle = bundles.bundle_of(topic)
    assert [each for each in bundles.of(NAMESPACE) if each.holds(topic)] == [bundle]
    assert bundle.low <= zlib.crc32(str(topic).encode()) <= bundle.high
    assert bundles.named(bundle.range, NAMESPACE) == bundle
    assert Bundles.from_json(bundles.to_json()) == bundles


@given(st.sets(st.integers(-1, RING_END + 1), max_size=9), st.integers(0, RING_END))
def test_the_parts_of_a_bundle_tile_it(cuts, number):
    whole = Bundle(NAMESPACE, 0x4000_0000, 0xC000_0000)
    parts = whole.split_at(cuts)
    assert sum(part.holds_hash(number) for part in parts) == whole.holds_hash(number)
    assert (parts[0].low, parts[-1].high) == (whole.low, whole.high)


def test_a_bundle_that_is_none_of_a_namespace_is_refused_in_pulsars_words():
    bundles = Bundles.even(2)
    for text, why in (
        ("0x1_0x2", "Invalid bundle range: 0x1_0x2"),
        ("0x00000001_0x80000000", "Cannot find bundle t/n/0x00000001_0x80000000 in the bundles"),
        ("0x00000000_0xc0000000", "Expected upper boundary of t/n/0x00000000_0x80000000"),
    ):
        with pytest.raises(InvalidValue, match=why):
            bundles.named(text, NAMESPACE)


def test_a_bundle_is_split_in_the_middle_or_so_that_both_parts_have_topics():
    whole = Bundle(NAMESPACE, 0, RING_END)
    topics = [TopicName("persistent", "t", "n", str(number)) for number in range(9)]
    assert halved(whole) == {0x8000_0000}
    assert halved(Bundle(NAMESPACE, 7, 8)) == set()
    (boundary,) = halved_by_count(whole, topics)
    counts = [sum(part.holds(each) for each in topics) for part in whole.split_at({boundary})]
    assert counts == [5, 4]
    assert halved_by_count(whole, topics[:1]) == halved_by_count(whole, []) == set()
    assert split_where({0, 5, RING_END}, whole, topics) == {5}
