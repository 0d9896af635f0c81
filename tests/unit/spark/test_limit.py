from types import SimpleNamespace

import pytest

from magnetar.client.consumers.entry import Entry
from magnetar.client.message import Delivery
from magnetar.model.position import Position
from magnetar.spark.limit import Backlog, Limit, Measure, oldest_first
from magnetar.spark.offsets import NOTHING_READ, Offset
from magnetar.spark.planning import Range


def batches(*sizes, of=10):
    """Entries with batches of so many messages, ten bytes each; 0: a message outside a batch."""
    for entry_id, size in enumerate(sizes):
        delivery = Delivery("t", Position(7, entry_id), -1, size, None, 0, redelivered=False)
        yield Entry(delivery, b"x" * of * max(size, 1))


def measured(limit, *sizes):
    measure = Measure(limit)
    within = all(measure.take(entry) for entry in batches(*sizes))
    return measure, within


@pytest.mark.parametrize(
    ("messages_max", "bytes_max", "end", "messages", "within"),
    [
        (3, None, Offset(7, 0, 2), 3, False),
        (4, None, Offset(7, 0, 3), 4, False),
        (5, None, Offset(7, 1, -1), 5, False),
        (6, None, Offset(7, 2, 0), 6, False),
        (9, None, Offset(7, 2, 3), 9, False),
        (10, None, Offset(7, 2, 3), 9, True),
        (None, 1, Offset(7, 0, 3), 4, False),
        (None, 49, Offset(7, 0, 3), 4, False),
        (None, 50, Offset(7, 1, -1), 5, False),
        (None, 89, Offset(7, 1, -1), 5, False),
        (None, 91, Offset(7, 2, 3), 9, True),
        (3, 50, Offset(7, 0, 2), 3, False),
        (6, 50, Offset(7, 1, -1), 5, False),
    ],
)
def test_the_first_limit_that_is_reached_ends_it(messages_max, bytes_max, end, messages, within):
    measure, goes_on = measured(Limit(messages_max, bytes_max), 4, 0, 4)
    assert (measure.end, measure.messages, goes_on) == (end, messages, within)


def test_a_limit_is_shared_out_by_what_waits():
    each = Backlog(1, 1)
    assert Limit(7, None).shared([each] * 2) == [Limit(3, None), Limit(4, None)]
    assert Limit(None, 1).shared([each] * 2) == [Limit(None, 1), Limit(None, 1)]
    assert Limit(9, 90).shared([Backlog(200, 10), Backlog(100, 80)]) == [Limit(6, 10), Limit(3, 80)]


@pytest.mark.parametrize(
    ("after", "upto", "entries", "backlog"),
    [
        (NOTHING_READ, Offset(7, 5, 3), 5, Backlog(20, 200)),
        (Offset(7, 1, 1), Offset(7, 5, 3), 4, Backlog(18, 160)),
        (Offset(7, 1, 1), Offset(7, 1, 3), 0, Backlog(2, 1)),
    ],
)
def test_a_backlog_is_what_is_left_of_an_entry_and_others_by_the_mean(
    after, upto, entries, backlog
):
    measure, _ = measured(Limit(6, None), 4, 4)
    assert measure.backlog(Range("t", after, upto), entries) == backlog


def test_where_nothing_was_measured_an_entry_is_a_message():
    wanted = Range("t", NOTHING_READ, Offset(7, 2))
    assert Measure(Limit(1, None)).backlog(wanted, 3) == Backlog(3, 3)


def at(times_ms, size=0):
    for entry, time_ms in zip(batches(*[size] * len(times_ms)), times_ms, strict=True):
        said = {"event_time_ms": time_ms, "publish_time_ms": 1, "key": None, "key_b64": False}
        entry.delivery.metadata = SimpleNamespace(**said)
        yield entry


@pytest.mark.parametrize(
    ("limit", "ends"),
    [
        (Limit(1, None), [(7, 0), None]),
        (Limit(4, None), [(7, 1), (7, 1)]),
        (Limit(None, 45), [(7, 1), (7, 1)]),
        (Limit(6, None), [(7, 1), (7, 3)]),
        (Limit(9, None), ["all", "all"]),
    ],
)
def test_the_oldest_event_goes_first(limit, ends):
    taken = oldest_first([at([10, 13, 60]), at([11, 12, 14, 15])], limit)
    said = ["all" if ended else one.end and one.end[:2] for one, ended in taken]
    assert said == ends


@pytest.mark.parametrize(
    ("messages_max", "last", "entries", "behind"),
    [
        (8, Offset(7, 1, 3), 0, 0),
        (6, Offset(7, 1, 3), 0, 2),
        (8, Offset(7, 5, 3), 4, 16),
        (6, Offset(7, 5, 3), 4, 18),
        (2, Offset(7, 5, 3), 5, 22),
    ],
)
def test_what_is_behind_is_exact_in_an_entry_and_else_by_the_mean(
    messages_max, last, entries, behind
):
    measure, _ = measured(Limit(messages_max, None), 4, 4, 4, 4, 4, 4)
    assert measure.behind(last, entries) == behind


def test_where_nothing_was_measured_an_entry_is_taken_for_a_message():
    assert Measure(Limit(1, None)).behind(Offset(7, 3), 3) == 3
