import pytest

from magnetar.client.consumers.entry import Entry
from magnetar.client.message import Delivery
from magnetar.model.position import Position
from magnetar.spark.limit import Limit, Measure
from magnetar.spark.offsets import Offset


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


def test_a_limit_is_shared_out():
    assert Limit(7, None).shared(2) == [Limit(4, None), Limit(3, None)]
    assert Limit(None, 1).shared(2) == [Limit(None, 1), Limit(None, 1)]
    assert Limit(9, 90).shared(3) == [Limit(3, 30)] * 3


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
