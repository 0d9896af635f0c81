"""Which delayed entries are due, wherever their times are kept."""

import random

import pytest

from magnetar.broker.dispatch.delayed import DelayedEntries
from magnetar.broker.dispatch.delayed_bucket import footer_of
from magnetar.broker.dispatch.entry_set import EntrySet
from magnetar.model.position import Position


def stored(delayed, segments, ledger_id):
    """Make a bucket of what is recent; ``segments`` get its parts of three entries."""
    recent = delayed.take_recent()
    footer = footer_of(recent)._replace(first_due_ms=[due for due, _, _ in recent[::3]])
    segments[ledger_id] = [recent[start : start + 3] for start in range(0, len(recent), 3)]
    delayed.add_bucket(ledger_id, footer)


def taken(delayed, now_ms, segments, count_max=100):
    """Take all that is due, and load what must be loaded. Returns it, and the buckets used up."""
    found, gone = [], []
    while True:
        due = delayed.due(now_ms, count_max)
        delayed.taken(due)
        found += due
        bucket = delayed.to_load(now_ms)
        if bucket is None and not due:
            return found, gone
        if not due and delayed.loaded(bucket, segments[bucket.ledger_id][bucket.segment]):
            gone.append(bucket.ledger_id)


def test_entries_are_due_in_the_order_of_the_log():
    delayed = DelayedEntries()
    delayed.hold(1, [30, 10, 20], [5, 6, 7])
    assert (delayed.next_due_ms, delayed.held.count) == (10, 3)
    assert delayed.due(9, 10) == []
    assert delayed.due(30, 2) == [Position(1, 6), Position(1, 7)]
    assert delayed.due(30, 9) == [Position(1, 5), Position(1, 6), Position(1, 7)]
    delayed.taken([Position(1, 6), Position(1, 7)])
    assert delayed.due(30, 9) == [Position(1, 5)]
    assert (delayed.held.count, delayed.next_due_ms) == (1, None)


def test_what_was_acknowledged_meanwhile_is_not_due():
    delayed = DelayedEntries()
    delayed.hold(1, [10, 10, 10], [5, 6, 7])
    delayed.held.drop_through(Position(1, 6))
    assert delayed.due(99, 9) == [Position(1, 7)]


def test_a_bucket_is_loaded_when_it_is_due_and_used_up_with_its_last_segment():
    delayed, segments = DelayedEntries(), {}
    delayed.hold(1, range(10, 17), range(7))
    stored(delayed, segments, 80)
    delayed.hold(1, [12], [9])
    assert delayed.next_due_ms == 10
    assert delayed.to_load(9) is None
    assert taken(delayed, 12, segments) == ([(1, 0), (1, 1), (1, 2), (1, 9)], [])
    assert delayed.next_due_ms == 13
    assert taken(delayed, 15, segments) == ([(1, 3), (1, 4), (1, 5)], [])
    assert taken(delayed, 16, segments) == ([(1, 6)], [80])
    assert (delayed.held.count, delayed.next_due_ms, delayed.buckets) == (0, None, [])


def test_what_could_not_be_stored_is_recent_again():
    delayed = DelayedEntries()
    delayed.hold(1, [30, 10], [5, 6])
    recent = delayed.take_recent()
    delayed.hold(1, [5], [7])
    delayed.put_back(recent)
    assert taken(delayed, 30, {})[0] == [(1, 5), (1, 6), (1, 7)]


def test_what_a_damaged_bucket_held_is_due_at_once_save_what_is_gone():
    delayed, segments = DelayedEntries(), {}
    delayed.hold(1, [50, 60], [5, 6])
    stored(delayed, segments, 80)
    delayed.held.discard(1, [5])
    [bucket] = delayed.buckets
    entries = EntrySet()
    entries.add(1, [5, 6])
    delayed.forget_bucket(bucket, entries, now_ms=7)
    assert taken(delayed, 7, {})[0] == [(1, 6)]


@pytest.mark.parametrize("seed", range(5))
def test_every_entry_is_due_once_and_at_its_time(seed):
    chance, delayed, segments = random.Random(seed), DelayedEntries(), {}
    times, seen, now, ledger_id = {}, {}, 0, 100
    for entry_id in range(600):
        due = now + chance.randrange(1, 400)
        times[Position(1, entry_id)] = due
        delayed.hold(1, [due], [entry_id])
        if chance.random() < 0.03:
            ledger_id += 1
            stored(delayed, segments, ledger_id)
        now += chance.randrange(3)
        for position in taken(delayed, now, segments, chance.choice([1, 5, 100]))[0]:
            assert position not in seen
            seen[position] = now
    now += 400
    seen |= dict.fromkeys(taken(delayed, now, segments)[0], now)
    assert seen.keys() == times.keys()
    assert all(seen[each] >= times[each] for each in times)
    delayed.hold(1, [now + 1], [601])
    delayed.clear()
    assert (delayed.next_due_ms, delayed.held.count, delayed.due(now + 9, 9)) == (None, 0, [])
