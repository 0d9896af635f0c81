"""Permits, and what a consumer holds."""

import pytest

from magnetar.broker.topics.consumer import Consumer, SubscribeRequest, messages_of, pending_in
from magnetar.model.names import TopicName
from magnetar.model.position import Position
from magnetar.model.subscriptions import SubscriptionType
from magnetar.storage.managed_ledger.run import EntryRun


def consumer(end, *, unacked_max=0):
    request = SubscribeRequest(
        subscription="s", type=SubscriptionType.SHARED, consumer_id=7, consumer_name="c"
    )
    return Consumer(
        request, topic=TopicName.parse("t"), outlet=end, unacked_max=unacked_max, connected_at_ms=0
    )


def run(make_entry, *weights):
    entries = [make_entry(str(index)) for index in range(len(weights))]
    return EntryRun(3, 10, entries, [0] * len(weights), list(weights))


def test_delivering_costs_a_permit_per_message(client_end, make_entry):
    c = consumer(client_end())
    c.add_permits(10)
    c.deliver(run(make_entry, 1, 4))
    assert (c.permits, c.message_count) == (5, 5)


def test_messages_acknowledged_before_cost_no_permit(client_end, make_entry):
    c = consumer(client_end())
    c.add_permits(10)
    c.deliver(run(make_entry, 1, 4), ack_sets=[[], [0b0101]])
    assert c.permits == 7
    assert messages_of(run(make_entry, 1, 4), None, [[], [0b0101]]) == [1, 2]


def test_what_is_held_is_released_once(client_end, make_entry):
    c = consumer(client_end())
    c.hold(run(make_entry, 1, 4, 1))
    assert c.unacked == 6
    assert c.release(3, [11, 99, 11]) == [11]
    assert c.release(3, [11]) == []
    assert c.unacked == 2
    assert c.release_all() == {3: [10, 12]}
    assert c.unacked == 0


def test_a_batch_is_released_in_parts(client_end, make_entry):
    c = consumer(client_end())
    c.hold(run(make_entry, 4))
    c.release_part(Position(3, 10), 3)
    c.release_part(Position(3, 10), 3)
    assert c.unacked == 3
    c.release(3, [10])
    assert c.unacked == 0


def test_permits_that_come_while_blocked_are_parked(client_end, make_entry):
    c = consumer(client_end(), unacked_max=4)
    c.add_permits(10)
    c.hold(run(make_entry, 1, 1, 1, 1))
    c.add_permits(5)
    assert (c.blocked, c.room, c.permits) == (True, 0, 10)
    c.release(3, [10, 11])
    assert (c.blocked, c.room, c.permits) == (False, 2, 15)


@pytest.mark.parametrize(("limit", "blocked"), [(3, True), (4, True), (5, False), (0, False)])
def test_another_limit_acts_at_once(client_end, make_entry, limit, blocked):
    c = consumer(client_end(), unacked_max=4)
    c.add_permits(10)
    c.hold(run(make_entry, 1, 1, 1, 1))
    c.add_permits(5)
    c.limit(limit)
    assert (c.blocked, c.permits) == (blocked, 10 if blocked else 15)
    free = consumer(client_end())
    free.hold(run(make_entry, 1, 1, 1, 1))
    free.limit(limit)
    assert free.blocked is blocked


def test_a_client_that_does_not_read_has_no_room(client_end):
    end = client_end()
    c = consumer(end)
    c.add_permits(10)
    assert c.room == 10
    end.writable = False
    assert c.room == 0


def test_ack_sets_of_java_longs_count_their_sign_bit():
    assert pending_in([-1, 1]) == 65
