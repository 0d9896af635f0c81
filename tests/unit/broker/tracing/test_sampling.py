from itertools import cycle

import pytest
from unit.broker.tracing.test_traceparent import NOT_SAMPLED, SAMPLED, message

from magnetar.broker.tracing.sampling import (
    DELIVERIES_PER_S_MAX,
    TRACES_PER_S_MAX,
    PerSecond,
    Sampling,
)
from magnetar.broker.tracing.traceparent import Parent
from magnetar.model.counts import TraceCounts

YES, NO = Parent(1, 1, True), Parent(1, 1, False)


def sampling(share, *, from_parents=True, chances=(0.0,), counts=None):
    return Sampling(
        from_parents=from_parents,
        share=share,
        chance=cycle(chances).__next__,
        counts=counts or TraceCounts(),
    )


def test_the_sender_decides_where_it_did():
    for share in (0, 1):
        assert sampling(share).wants(YES)
        assert not sampling(share).wants(NO)
    assert sampling(1).wants(None)
    assert not sampling(0).wants(None)


def test_nobody_but_the_broker_decides_where_it_is_told_so():
    assert sampling(1, from_parents=False).wants(NO)
    assert not sampling(0, from_parents=False).wants(YES)


@pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
def test_a_share_is_traced(share):
    chances = [(number + 0.5) / 1000 for number in range(1000)]
    chooses = sampling(share, chances=[chances[number * 389 % 1000] for number in range(1000)])
    count = 100_000
    traced = sum(chooses.wants(None) for _ in range(count))
    assert traced == pytest.approx(count * share, rel=0.1)


@pytest.mark.parametrize("share", [5e-324, 1e-300, 1e-17])
def test_a_share_may_be_as_small_as_a_number_can_be(share):
    assert not sampling(share, chances=[0.5]).wants(None)


def test_entries_are_chosen_by_index_with_their_parents():
    entries = [
        message({}),
        message({"traceparent": NOT_SAMPLED}),
        message({"traceparent": SAMPLED}),
    ]
    ((index, parent),) = sampling(0).choose(entries, 0)
    assert (index, parent.sampled) == (2, True)
    assert [index for index, _ in sampling(1).choose(entries, 0)] == [0, 2]


def test_so_many_are_traced_in_a_second():
    counts = TraceCounts()
    chooses = sampling(1, counts=counts)
    entries = [message({})] * (TRACES_PER_S_MAX + 3)
    assert len(chooses.choose(entries, 10.0)) == TRACES_PER_S_MAX
    assert len(chooses.choose(entries, 10.9)) == 0
    assert counts.skipped == 3 + len(entries)
    assert len(chooses.choose(entries, 11.0)) == TRACES_PER_S_MAX


def test_so_many_deliveries_are_traced_in_a_second():
    limit = PerSecond(DELIVERIES_PER_S_MAX)
    assert sum(limit.take(5.0) for _ in range(1000)) == DELIVERIES_PER_S_MAX
    assert limit.take(6.0)
