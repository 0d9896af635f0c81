"""message/chunk.py: one message in many entries."""

import pytest

from magnetar.errors import CorruptEntry
from magnetar.message.chunk import Reassembly, split
from magnetar.message.metadata import ChunkInfo
from magnetar.model.position import Position


class Receiver:
    """Adds chunks of messages whose payload is known, the n-th entry at 1:n."""

    def __init__(self, **limits):
        defaults = {"messages_max": 3, "age_max_s": 60.0, "size_max": 1000}
        self.assembly = Reassembly(**(defaults | limits))
        self.entry_id = -1
        self.now = 0.0

    def add(self, uuid, index, *, count=3, at=None, total_size=None, part=None):
        if at is None:
            self.entry_id += 1
            at = self.entry_id
        part = f"{uuid}{index} ".encode() if part is None else part
        total = len(part) * count if total_size is None else total_size
        place = ChunkInfo(uuid, index, count, total)
        return self.assembly.add(place, part, Position(1, at), self.now)

    @property
    def dropped(self):
        return [position.entry_id for position in self.assembly.take_dropped()]


@pytest.mark.parametrize(
    ("payload", "parts"),
    [(b"", [b""]), (b"abc", [b"abc"]), (b"abcd", [b"abc", b"d"]), (b"abcdef", [b"abc", b"def"])],
)
def test_a_payload_is_cut_up(payload, parts):
    assert split(payload, 3) == parts


def test_a_message_is_whole_with_its_last_chunk():
    receiver = Receiver()
    assert receiver.add("a", 0) is None
    assert receiver.add("a", 1) is None
    positions = (Position(1, 0), Position(1, 1), Position(1, 2))
    assert receiver.add("a", 2) == (b"a0 a1 a2 ", positions)
    assert receiver.dropped == []


def test_chunks_of_several_messages_may_be_mixed():
    receiver = Receiver()
    for uuid, index in (("a", 0), ("b", 0), ("b", 1), ("a", 1)):
        assert receiver.add(uuid, index) is None
    assert receiver.add("b", 2)[0] == b"b0 b1 b2 "
    assert receiver.add("a", 2)[0] == b"a0 a1 a2 "


def test_a_message_without_its_beginning_is_dropped():
    receiver = Receiver()
    assert receiver.add("a", 1) is None
    assert receiver.add("a", 2) is None
    assert receiver.dropped == [0, 1]
    assert receiver.dropped == []


def test_a_message_with_a_gap_is_dropped():
    receiver = Receiver()
    receiver.add("a", 0)
    assert receiver.add("a", 2) is None
    assert receiver.dropped == [0, 1]


def test_a_chunk_that_overtook_its_beginning_comes_again():
    receiver = Receiver(out_of_order=True)
    for index in (1, 2, 0):
        assert receiver.add("a", index) is None
    assert receiver.dropped == []
    assert receiver.assembly.take_again(59.0) == []
    assert receiver.assembly.take_again(60.0) == [Position(1, 0), Position(1, 1)]
    assert receiver.add("a", 1, at=0) is None
    assert receiver.add("a", 2, at=1)[0] == b"a0 a1 a2 "


def test_a_chunk_that_comes_again_without_its_beginning_is_dropped():
    receiver = Receiver(out_of_order=True)
    receiver.add("a", 1)
    receiver.add("a", 2)
    receiver.add("a", 1, at=0)
    receiver.add("a", 2, at=1)
    assert receiver.dropped == [0, 1]


def test_a_message_with_a_gap_comes_again_once_where_order_is_not_kept():
    receiver = Receiver(out_of_order=True)
    receiver.add("a", 0)
    receiver.add("a", 2)
    assert receiver.dropped == []
    assert receiver.assembly.take_again(60.0) == [Position(1, 0), Position(1, 1)]
    receiver.add("a", 0, at=0)
    receiver.add("a", 2, at=1)
    assert receiver.dropped == [0, 1]


def test_so_many_chunks_that_came_early_are_remembered():
    receiver = Receiver(out_of_order=True, evicted_max=1)
    receiver.add("a", 1)
    receiver.add("b", 1)
    for at in (0, 1):
        receiver.add("ab"[at], 1, at=at)
    assert receiver.dropped == [], "each was forgotten for the other"


def test_a_chunk_that_was_sent_twice_counts_once():
    receiver = Receiver()
    receiver.add("a", 0)
    receiver.add("a", 1)
    assert receiver.add("a", 1) is None
    assert receiver.add("a", 2)[0] == b"a0 a1 a2 "
    assert receiver.dropped == [2]


def test_a_chunk_that_is_delivered_twice_is_no_matter():
    receiver = Receiver()
    receiver.add("a", 0)
    receiver.add("a", 1)
    assert receiver.add("a", 1, at=1) is None
    assert receiver.add("a", 2)[0] == b"a0 a1 a2 "
    assert receiver.dropped == []


def test_a_message_that_was_sent_twice_is_taken_once():
    receiver = Receiver()
    receiver.add("a", 0)
    receiver.add("a", 1)
    for index in (0, 1):
        receiver.add("a", index)
    whole = receiver.add("a", 2)
    assert whole == (b"a0 a1 a2 ", (Position(1, 2), Position(1, 3), Position(1, 4)))
    assert receiver.dropped == [0, 1]


def test_a_message_that_is_redelivered_begins_again_and_loses_nothing():
    receiver = Receiver()
    receiver.add("a", 0)
    receiver.add("a", 1)
    for index in (0, 1):
        receiver.add("a", index, at=index)
    assert receiver.add("a", 2)[0] == b"a0 a1 a2 "
    assert receiver.dropped == []


def test_the_oldest_message_makes_room():
    receiver = Receiver(messages_max=2)
    for uuid in "abc":
        receiver.add(uuid, 0)
    receiver.add("b", 1)
    assert receiver.add("b", 2)[0] == b"b0 b1 b2 "


def test_what_had_to_make_room_is_not_acknowledged_and_is_put_together_when_it_comes_again():
    receiver = Receiver(messages_max=2)
    for uuid in "abc":
        receiver.add(uuid, 0)
    assert receiver.add("a", 1) is None
    assert receiver.add("a", 2) is None
    assert receiver.dropped == []
    receiver.add("b", 1)
    receiver.add("b", 2)
    for index, at in enumerate((0, 3, 4)):
        whole = receiver.add("a", index, at=at)
    assert whole[0] == b"a0 a1 a2 "
    assert receiver.dropped == []


def test_the_oldest_may_be_dropped_to_make_room():
    receiver = Receiver(messages_max=1, drop_oldest=True)
    receiver.add("a", 0)
    receiver.add("a", 1)
    receiver.add("b", 0)
    assert receiver.dropped == [0, 1]
    receiver.add("a", 2)  # Its rest is of no use either.
    assert receiver.dropped == [3]
    receiver.now = 100.0
    assert receiver.assembly.take_again(receiver.now) == []


def test_a_message_does_not_wait_for_ever():
    receiver = Receiver(age_max_s=60)
    receiver.add("a", 0)
    receiver.now = 59.0
    receiver.add("b", 0)
    assert receiver.dropped == []
    receiver.now = 60.0
    receiver.add("b", 1)
    assert receiver.dropped == [0]
    assert receiver.add("a", 1) is None
    assert receiver.dropped == [3]


def test_what_took_too_long_may_be_asked_for_again():
    receiver = Receiver(age_max_s=60, redeliver=True)
    assert receiver.assembly.due is None
    receiver.add("a", 0)
    receiver.add("a", 1)
    assert receiver.assembly.due == 60.0
    receiver.now = 60.0
    receiver.assembly.expire(60.0)
    assert receiver.dropped == []
    assert receiver.assembly.take_again(60.0) == [Position(1, 0), Position(1, 1)]
    assert receiver.assembly.due is None
    for index, at in enumerate((0, 1, 2)):
        whole = receiver.add("a", index, at=at)
    assert whole[0] == b"a0 a1 a2 "


def test_what_made_room_is_asked_for_again_after_a_while():
    receiver = Receiver(messages_max=1, age_max_s=60)
    receiver.add("a", 0)
    receiver.now = 10.0
    receiver.add("b", 0)
    receiver.add("a", 1)
    assert receiver.assembly.take_again(69.0) == []
    assert receiver.assembly.due == 70.0
    assert receiver.assembly.take_again(70.0) == [Position(1, 0), Position(1, 2)]
    assert receiver.assembly.take_again(70.0) == []
    assert receiver.dropped == []


def test_a_message_beyond_the_limit_is_refused():
    receiver = Receiver(size_max=8)
    with pytest.raises(CorruptEntry, match="9 bytes; 8 are accepted"):
        receiver.add("a", 0)


@pytest.mark.parametrize(("index", "count"), [(3, 3), (-1, 3), (0, 0)])
def test_a_chunk_outside_of_its_message_is_refused(index, count):
    with pytest.raises(CorruptEntry, match=f"chunk {index} of {count}"):
        Receiver().add("a", index, count=count)


def test_chunks_that_are_more_than_the_message_are_refused():
    receiver = Receiver()
    receiver.add("a", 0, total_size=5)
    with pytest.raises(CorruptEntry, match="6 bytes of chunks instead of 5"):
        receiver.add("a", 1, total_size=5)
    assert receiver.dropped == [0]


def test_chunks_that_are_less_than_the_message_are_refused():
    receiver = Receiver()
    receiver.add("a", 0, count=2, total_size=7)
    with pytest.raises(CorruptEntry, match="6 bytes of chunks instead of 7"):
        receiver.add("a", 1, count=2, total_size=7)


def test_what_is_cleared_is_forgotten():
    receiver = Receiver()
    receiver.add("a", 1)
    receiver.add("b", 0)
    receiver.assembly.clear()
    assert receiver.dropped == []
    receiver.add("b", 1)
    assert receiver.dropped == [2]
