"""What is left to receive, and where a reader goes on."""

import pytest

from magnetar.client.consumers.read_position import ReadPosition, Start, entry_of
from magnetar.model.position import (
    EARLIEST_MESSAGE,
    LATEST_MESSAGE,
    ChunkedMessageId,
    MessageId,
    Position,
)

NOTHING = Position(7, -1)
LAST = MessageId(7, 4, -1, 2, 3)


@pytest.mark.parametrize(
    ("start", "mark", "behind"),
    [
        (None, NOTHING, True),
        (None, LAST.position, False),
        (Start(EARLIEST_MESSAGE, inclusive=False), NOTHING, True),
        (Start(LATEST_MESSAGE, inclusive=False), Position(7, 3), True),
        (Start(LATEST_MESSAGE, inclusive=False), LAST.position, False),
        (Start(LAST, inclusive=True), NOTHING, True),
        (Start(LAST, inclusive=False), NOTHING, False),
        (Start(MessageId(7, 4, -1, 1, 3), inclusive=False), NOTHING, True),
    ],
)
def test_before_anything_is_received_the_start_and_the_mark_tell(start, mark, behind):
    assert ReadPosition(start).is_behind(LAST, mark) is behind


def test_what_was_received_tells_more_than_the_mark():
    position = ReadPosition(None)
    position.seen = LAST
    assert not position.is_behind(LAST, NOTHING)
    position.seen = MessageId(7, 4, -1, 1, 3)
    assert position.is_behind(LAST, LAST.position)


def test_a_reader_goes_on_behind_what_it_received():
    position = ReadPosition(Start(EARLIEST_MESSAGE, inclusive=True))
    assert position.detached() is None
    position.seen = LAST
    assert position.detached() == LAST.position
    assert position.start == Start(LAST, inclusive=False)
    assert position.detached() is None


def test_the_broker_keeps_the_place_of_a_consumer():
    position = ReadPosition(None)
    position.seen = LAST
    assert position.detached() == LAST.position
    position.move(Start(LAST, inclusive=True))
    assert position.start is None


def test_a_seek_moves_a_reader():
    position = ReadPosition(Start(EARLIEST_MESSAGE, inclusive=True))
    position.seen = LAST
    position.move(Start(MessageId(7, 1), inclusive=True))
    assert (position.seen, position.start) == (None, Start(MessageId(7, 1), inclusive=True))


def test_a_message_that_was_split_begins_with_its_first_chunk():
    split = ChunkedMessageId.of(7, 9, 2, first_chunk=Position(7, 5))
    assert entry_of(Start(split, inclusive=True)) == MessageId(7, 5, 2)
    assert entry_of(Start(split, inclusive=False)) == split
