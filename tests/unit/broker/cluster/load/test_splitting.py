"""Which bundles are split, and where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.broker.cluster.load.report import BundleLoad, Traffic
from magnetar.broker.cluster.load.splitting import SplitRules, Splitting, halved_by_traffic
from magnetar.model.bundles import RING_END, Bundle, hash_of
from magnetar.model.names import NamespaceName, TopicName

HERE = NamespaceName("t", "n")
WHOLE = Bundle(HERE, 0, RING_END)
MANY = BundleLoad(topics=1001)


def bundle(number):
    return Bundle(HERE, number, number + 1)


@pytest.mark.parametrize(
    ("load", "too_much"),
    [
        (BundleLoad(topics=1000, producers=500, consumers=500), False),
        (MANY, True),
        (BundleLoad(topics=2, producers=600, consumers=401), True),
        (BundleLoad(Traffic(messages_in=20_000, messages_out=10_001), topics=2), True),
        (BundleLoad(Traffic(bytes_in=101 << 20), topics=2), True),
        (BundleLoad(Traffic(bytes_in=101 << 20), topics=1), False),
    ],
)
def test_more_than_a_bundle_should_have(load, too_much):
    assert SplitRules().too_much(load) is too_much


def test_it_must_be_too_much_several_times_running():
    splitting = Splitting(SplitRules(hits=2))
    found = [
        splitting.look({WHOLE: load}, {HERE: 1}) for load in (MANY, BundleLoad(), MANY, MANY, MANY)
    ]
    assert found == [[], [], [], [WHOLE], []]


def test_a_namespace_has_so_many_bundles_at_most():
    splitting = Splitting(SplitRules(hits=1, bundles_max=5))
    assert len(splitting.look({bundle(n): MANY for n in range(3)}, {HERE: 3})) == 2


def test_so_many_at_once():
    splitting = Splitting(SplitRules(hits=1, at_once_max=2))
    assert len(splitting.look({bundle(n): MANY for n in range(9)}, {HERE: 9})) == 2


def topic(number):
    return TopicName("persistent", "t", "n", f"topic-{number}")


@pytest.mark.parametrize("loads", [{0: 1.0}, {0: 0.0, 1: 0.0}], ids=["one topic", "no traffic"])
def test_what_has_no_halves_is_not_parted(loads):
    assert halved_by_traffic(WHOLE, {topic(n): load for n, load in loads.items()}) == set()


@given(st.dictionaries(st.integers(0, 500).map(topic), st.floats(1, 1000), min_size=2))
def test_no_other_place_parts_traffic_more_evenly(loads):
    (place,) = halved_by_traffic(WHOLE, loads)
    total = sum(loads.values())

    def unevenness(at):
        return abs(total - 2 * sum(load for name, load in loads.items() if hash_of(name) < at))

    assert unevenness(place) <= min(unevenness(hash_of(name) + 1) for name in loads) + 1e-6
    assert 0 < sum(hash_of(name) < place for name in loads) < len(loads)
