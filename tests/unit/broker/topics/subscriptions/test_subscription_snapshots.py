"""When a snapshot over clusters is complete, and which of them a subscription passes."""

from magnetar.broker.topics.subscriptions.subscription_snapshots import (
    SnapshotRound,
    SnapshotsAhead,
)
from magnetar.message.subscription_markers import Snapshot
from magnetar.model.position import Position


def place(entry_id, ledger_id=1):
    return Position(ledger_id, entry_id)


def snapshot(entry_id):
    return Snapshot(str(entry_id), place(entry_id), {"east": place(entry_id, 9)})


def passed(ahead, entry_id):
    found = ahead.passed(place(entry_id))
    return None if found is None else found.local.entry_id


def test_one_other_cluster_is_asked_once():
    taken = SnapshotRound(["east"], 0.0)
    assert not taken.answered("north", place(1))
    assert taken.answered("east", place(5))
    assert (taken.rounds_left, taken.positions) == (0, {"east": place(5)})


def test_several_are_asked_twice_and_their_first_places_count():
    taken = SnapshotRound(["east", "north"], 0.0)
    assert not taken.answered("east", place(5))
    assert not taken.answered("east", place(6))
    assert taken.answered("north", place(7))
    assert taken.rounds_left == 1
    assert not taken.answered("north", place(8))
    assert taken.answered("east", place(9))
    assert taken.rounds_left == 0
    assert taken.positions == {"east": place(5), "north": place(7)}


def test_the_latest_snapshot_before_a_mark_is_passed_once():
    ahead = SnapshotsAhead(10)
    for entry_id in (20, 10, 30, 20):
        ahead.add(snapshot(entry_id))
    assert len(ahead) == 3
    assert passed(ahead, 9) is None
    assert passed(ahead, 29) == 20
    assert passed(ahead, 29) is None
    assert passed(ahead, 30) == 30


def test_of_many_the_oldest_and_the_latest_stay():
    ahead = SnapshotsAhead(4)
    for entry_id in range(100):
        ahead.add(snapshot(entry_id))
        assert len(ahead) <= 4
    assert passed(ahead, 0) == 0
    assert passed(ahead, 98) < 99
    assert passed(ahead, 99) == 99


def test_two_are_the_least():
    ahead = SnapshotsAhead(1)
    for entry_id in range(3):
        ahead.add(snapshot(entry_id))
    assert (passed(ahead, 1), passed(ahead, 2)) == (0, 2)
