"""Permits, and how much a consumer holds."""

import pytest
from unit.broker.topics.conftest import attached

from magnetar.broker.topics.subscriptions.consumer import messages_of, pending_in
from magnetar.message.entry_traits import EntryTraits
from magnetar.model.subscriptions import SubscriptionType
from magnetar.storage.managed_ledger.run import EntryRun


def consumer(end, *, unacked_max=0):
    return attached(SubscriptionType.SHARED, end=end, unacked_max=unacked_max)


def run(make_entry, *counts):
    """A run of entries that hold so many messages, and its traits."""
    entries = [make_entry(str(index)) for index in range(len(counts))]
    traits = EntryTraits(list(counts))
    return EntryRun(3, 10, entries, [0] * len(counts), traits), traits


def test_delivering_costs_a_permit_per_message(client_end, make_entry):
    c = consumer(client_end())
    c.add_permits(10)
    c.deliver(*run(make_entry, 1, 4))
    assert (c.permits, c.totals.message_count) == (5, 5)


def test_messages_acknowledged_before_cost_no_permit(client_end, make_entry):
    c = consumer(client_end())
    c.add_permits(10)
    c.deliver(*run(make_entry, 1, 4), ack_sets=[[], [0b0101]])
    assert c.permits == 7
    assert messages_of(EntryTraits([1, 4]), None, [[], [0b0101]]) == [1, 2]
    assert messages_of(EntryTraits([1, 4]), [1], [[0b0101]]) == [2]


def test_permits_that_come_while_blocked_are_parked(client_end):
    c = consumer(client_end(), unacked_max=4)
    c.add_permits(10)
    c.took(4)
    c.add_permits(5)
    assert (c.blocked, c.capacity, c.permits) == (True, 0, 10)
    c.released(2)
    assert (c.blocked, c.capacity, c.permits) == (False, 2, 15)


@pytest.mark.parametrize(("limit", "blocked"), [(3, True), (4, True), (5, False), (0, False)])
def test_another_limit_acts_at_once(client_end, limit, blocked):
    c = consumer(client_end(), unacked_max=4)
    c.add_permits(10)
    c.took(4)
    c.add_permits(5)
    c.limit(limit)
    assert (c.blocked, c.permits) == (blocked, 10 if blocked else 15)
    free = consumer(client_end())
    free.took(4)
    free.limit(limit)
    assert free.blocked is blocked


def test_a_client_that_does_not_read_can_be_given_nothing(client_end):
    end = client_end()
    c = consumer(end)
    c.add_permits(10)
    assert c.capacity == 10
    end.writable = False
    assert c.capacity == 0


def test_ack_sets_of_java_longs_count_their_sign_bit():
    assert pending_in([-1, 1]) == 65
