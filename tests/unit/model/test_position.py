"""Positions and message ids, in log order."""

from magnetar.model.position import (
    EARLIEST,
    EARLIEST_MESSAGE,
    LATEST,
    LATEST_MESSAGE,
    MessageId,
    Position,
)


def test_positions_compare_in_log_order():
    assert EARLIEST < Position(0, -1) < Position(0, 5) < Position(1, 0) < LATEST


def test_message_ids_print_as_pulsar_does():
    assert str(MessageId(3, 7)) == "3:7:-1"
    assert str(MessageId(3, 7, 2, 4, 10)) == "3:7:2:4"
    assert str(Position(3, 7)) == "3:7"


def test_a_message_id_knows_its_entry():
    assert MessageId(3, 7, 2, 4, 10).position == Position(3, 7)
    assert EARLIEST_MESSAGE.position == EARLIEST
    assert LATEST_MESSAGE.position == LATEST
