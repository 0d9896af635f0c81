"""Positions and message ids, in log order."""

import pulsar
import pytest

from magnetar.errors import InvalidValue
from magnetar.model.position import (
    EARLIEST,
    EARLIEST_MESSAGE,
    LATEST,
    LATEST_MESSAGE,
    ChunkedMessageId,
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


IDS = [
    MessageId(7, 3),
    MessageId(7, 3, 2),
    MessageId(300, 2**40, -1, 4, 9),
    EARLIEST_MESSAGE,
    LATEST_MESSAGE,
    ChunkedMessageId.of(7, 9, 1, first_chunk=Position(6, 3)),
]


@pytest.mark.parametrize("message_id", IDS)
def test_an_id_is_kept_as_bytes_and_as_text(message_id):
    for read in (
        MessageId.from_bytes(message_id.to_bytes()),
        MessageId.from_text(message_id.to_text()),
    ):
        assert read == message_id
        assert hash(read) == hash(message_id)
        assert getattr(read, "first_chunk", None) == getattr(message_id, "first_chunk", None)


@pytest.mark.parametrize("message_id", IDS)
def test_ids_are_exchanged_with_the_official_client(message_id):
    theirs = pulsar.MessageId.deserialize(message_id.to_bytes())
    assert (theirs.ledger_id(), theirs.entry_id()) == message_id.position
    assert (theirs.partition(), theirs.batch_index()) == (
        message_id.partition,
        message_id.batch_index,
    )
    assert MessageId.from_bytes(theirs.serialize()).position == message_id.position


def test_the_text_of_an_id_is_pulsars():
    assert MessageId(3, 7).to_text() == "3:7:-1"
    assert MessageId(3, 7, 2, 4, 10).to_text() == "3:7:2:4:10"
    assert IDS[-1].to_text() == "6:3:1;7:9:1"
    assert MessageId.from_text("3:7") == MessageId(3, 7)
    assert MessageId.from_text("3:7:2:4") == MessageId(3, 7, 2, 4)


@pytest.mark.parametrize("data", [b"", b"xx", b"\x08\x01", b"\x08\x01\x10\x02\x3a\x05", "x", None])
def test_bytes_that_are_no_id_are_refused(data):
    with pytest.raises(InvalidValue, match="message id"):
        MessageId.from_bytes(data)


@pytest.mark.parametrize("text", ["", "7", "7:x", "1:2:3:4:5:6", "1:2;", "٣:٤", b"7:3", None])
def test_text_that_is_no_id_is_refused(text):
    with pytest.raises(InvalidValue, match="message id"):
        MessageId.from_text(text)


def test_the_id_of_a_chunked_message_is_not_that_of_its_last_entry():
    """A reader that begins with that one passes over the message."""
    chunked = IDS[-1]
    last = MessageId(*chunked)
    assert chunked != last
    assert last != chunked
    assert chunked == ChunkedMessageId.of(7, 9, 1, first_chunk=Position(6, 3), chunks=((6, 3),))
    assert chunked != ChunkedMessageId.of(7, 9, 1, first_chunk=Position(6, 4))
    assert (str(chunked), chunked > MessageId(7, 8, 1)) == ("7:9:1", True)
