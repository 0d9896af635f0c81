from collections import Counter

import pytest
from unit.broker.dispatch.receivers import Receiver

from magnetar.broker.dispatch.active_consumer import choose

TOPIC = "persistent://public/default/g-failover"


def active(
    *candidates, topic=TOPIC, partition_index=-1, consistent_hashing=False, longest_there=False
):
    """The name of the chosen one; a candidate is a name, or a priority and a name."""
    consumers = [
        Receiver(each) if isinstance(each, str) else Receiver(each[1], priority=each[0])
        for each in candidates
    ]
    return choose(
        consumers,
        topic=topic,
        partition_index=partition_index,
        consistent_hashing=consistent_hashing,
        longest_there=longest_there,
    ).name


def test_without_partitions_the_ring_chooses_as_pulsar_did():
    assert active("m") == "m"
    assert active("b", "m") == "m"
    assert active("b", "m", "z") == "m"
    assert active("b", "hi", "m", "z") == "hi"


@pytest.mark.parametrize("order", [("b", "hi", "m", "z"), ("z", "m", "hi", "b")])
def test_the_order_of_arrival_does_not_matter(order):
    assert active(*order) == "hi"
    assert active(*order, partition_index=2) == "m"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("ca", "cb", "cc"), ["ca", "cb", "cc"]),
        (("cb", "cc"), ["cb", "cc", "cb"]),
        (("ca",), ["ca", "ca", "ca"]),
    ],
)
def test_a_partition_picks_by_its_index(names, expected):
    assert [active(*names, partition_index=i) for i in range(3)] == expected


@pytest.mark.parametrize("count", range(1, 8))
def test_partitions_are_spread_evenly(count):
    names = [f"c{number}" for number in range(count)]
    served = Counter(active(*names, partition_index=index) for index in range(20))
    assert max(served.values()) - min(served[name] for name in names) <= 1


def test_a_partition_uses_the_ring_when_asked_to():
    names = ("b", "hi", "m", "z")
    assert active(*names, partition_index=0) == "b"
    assert active(*names, partition_index=0, consistent_hashing=True) == "hi"


def test_a_worse_priority_waits_until_no_better_one_is_connected():
    assert active((1, "hi"), (0, "z")) == "z"
    assert active((1, "hi"), (0, "z"), partition_index=1) == "z"
    assert active((1, "hi"), (2, "z")) == "hi"


def test_the_top_of_the_ring_leads_back_to_its_lowest_point():
    # With one candidate every topic must find a point, also those hashed above all of them.
    assert {active("only", topic=f"t-{i}") for i in range(1000)} == {"only"}


def test_consumers_of_equal_names_are_told_apart():
    first, second = Receiver("same"), Receiver("same")
    chosen = choose([first, second], topic=TOPIC, partition_index=1, consistent_hashing=False)
    assert chosen is second


def test_the_one_that_has_been_there_for_longest_is_chosen_when_that_is_asked_for():
    assert active("z", "hi", "b", longest_there=True) == "z"
    assert active("b", "z", "hi", longest_there=True) == "b"
    assert active((1, "first"), (0, "second"), (0, "third"), longest_there=True) == "second"
    spread = [active("z", "b", partition_index=i, longest_there=True) for i in range(3)]
    assert spread == ["b", "z", "b"]  # Each partition may have seen them come in another order.


def test_nobody_to_choose_from_is_a_broken_promise():
    with pytest.raises(AssertionError, match="nobody to choose from"):
        active()
