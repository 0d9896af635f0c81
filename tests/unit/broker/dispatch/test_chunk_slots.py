"""Slots that stay with a consumer while a chunked message is delivered in part."""

from magnetar.broker.dispatch.chunk_slots import ChunkSlots
from magnetar.message.metadata import ChunkInfo


def chunk(uuid, index, count=3):
    return ChunkInfo(uuid, index, count, 1)


def test_a_slot_stays_until_the_message_is_complete():
    slots = ChunkSlots(9)
    assert [slots.delivered(chunk("m", index), 7, "a") for index in range(2)] == [False, False]
    assert (slots.holder(7), slots.holder(8), len(slots)) == ("a", None, 1)
    assert slots.delivered(chunk("m", 2), 7, "a")
    assert (slots.holder(7), len(slots)) == (None, 0)


def test_a_message_that_comes_at_once_keeps_nothing():
    slots = ChunkSlots(9)
    assert not slots.delivered(chunk("m", 0, 1), 7, "a")
    assert len(slots) == 0


def test_a_slot_stays_for_each_of_its_messages():
    slots = ChunkSlots(9)
    for uuid in "mn":
        slots.delivered(chunk(uuid, 0), 7, "a")
    assert not slots.delivered(chunk("m", 2), 7, "a")
    assert slots.delivered(chunk("n", 2), 7, "a")


def test_the_oldest_makes_room():
    slots = ChunkSlots(2)
    for number, uuid in enumerate("mn"):
        slots.delivered(chunk(uuid, 0), number, "a")
    assert slots.delivered(chunk("o", 0), 2, "a")
    assert [slots.holder(slot) for slot in range(3)] == [None, "a", "a"]


def test_what_goes_to_another_consumer_is_begun_again_there():
    slots = ChunkSlots(9)
    slots.delivered(chunk("m", 0), 7, "a")
    slots.delivered(chunk("n", 0), 7, "a")
    assert slots.delivered(chunk("m", 0), 7, "b")
    assert slots.holder(7) == "b"
    assert slots.delivered(chunk("m", 2), 7, "b"), "n is nobody's any more"


def test_a_consumer_that_is_gone_keeps_nothing():
    slots = ChunkSlots(9)
    for number, (uuid, consumer) in enumerate(["ma", "nb"]):
        slots.delivered(chunk(uuid, 0), number, consumer)
    slots.forget("a")
    assert [slots.holder(slot) for slot in range(2)] == [None, "b"]
    assert slots.free(1)
    assert not slots.free(1)
