import pytest
from unit.broker.admin.messages.entries import PLACE, batch_of, entry_of, single

from magnetar.broker.admin.messages.dead_letters import (
    DeadLetter,
    dead_letters_of,
    is_pending,
    without,
)
from magnetar.broker.admin.messages.message_filter import MessageFilter
from magnetar.broker.admin.messages.stored import messages_in
from magnetar.message.compression import CompressionType
from magnetar.message.metadata import ChunkInfo
from magnetar.model.names import TopicName

ORIGIN = "persistent://public/default/x"
TOPIC = TopicName.parse(ORIGIN)


def letters(entry, *, pending=True, wanted=None, to=None):
    messages = list(messages_in(PLACE, entry))
    return dead_letters_of(
        PLACE, entry, messages, pending=pending, wanted=wanted or MessageFilter(), to=to
    )


def copy_of(letter):
    [found] = messages_in(PLACE, letter.entry("me", 3, 5000, bytes(8)))
    return found


def told(**more):
    return {"REAL_TOPIC": ORIGIN, "RECONSUMETIMES": "3", "ORIGIN_MESSAGE_ID": "1:2:-1", **more}


@pytest.mark.parametrize("kind", [CompressionType.NONE, CompressionType.ZSTD])
def test_a_letter_is_published_again_without_what_made_it_one(kind):
    entry = entry_of(
        b"hello", kind=kind, key="k", properties=told(a="b"), event_time_ms=7, deliver_at_ms=9
    )
    found = letters(entry)
    [letter] = found.letters
    assert (letter.target, letter.key, found.whole) == (TOPIC, "k", True)
    again = copy_of(letter)
    assert (again.payload, again.key, again.event_time_ms) == (b"hello", "k", 7)
    assert again.properties == {"ORIGIN_MESSAGE_ID": "1:2:-1", "a": "b"}
    assert (again.producer, again.sequence_id, again.publish_time_ms) == ("me", 3, 5000)
    assert (again.deliver_at_ms, again.schema_version) == (None, bytes(8))
    assert again.compression == kind


def test_a_chunk_goes_as_it_is_and_all_of_a_message_to_one_partition():
    [letter] = letters(entry_of(b"part", chunk=ChunkInfo("u", 1, 3, 12), properties=told())).letters
    assert letter.key == "u"
    assert copy_of(letter).chunk == ChunkInfo("u", 1, 3, 12)


def test_messages_of_a_batch_go_one_by_one():
    details = {
        0: single(properties=told(n="0"), key="k"),
        1: single(properties=told(n="1")),
        2: single(),
    }
    entry = batch_of(b"0", b"1", b"2", details=details)
    found = letters(entry, wanted=MessageFilter(contains="n=1"))
    assert [letter.message.data for letter in found.letters] == [b"1"]
    assert (found.left, found.whole) == (2, False)
    found = letters(entry, pending=[0b101])
    assert [letter.message.data for letter in found.letters] == [b"0"]
    assert found.skipped == ["it has no property REAL_TOPIC: say where to, with `to`"]
    again = copy_of(found.letters[0])
    assert (again.payload, again.key, again.batch_index) == (b"0", "k", -1)
    assert again.properties == {"ORIGIN_MESSAGE_ID": "1:2:-1", "n": "0"}


def test_who_says_where_to_is_heard_first():
    to = TopicName.parse("elsewhere")
    found = letters(entry_of(properties=told()), to=to)
    assert [letter.target for letter in found.letters] == [to]


def test_an_origin_that_is_no_topic_is_named():
    assert letters(entry_of(properties={"REAL_TOPIC": "a//b"})).skipped == [
        "REAL_TOPIC names no topic: 'a//b'"
    ]


def test_ack_sets_lose_bits():
    assert without(True, [0, 1], 3) == [0b100]
    assert without([0b110], [1], 3) == [0b100]
    assert without([-1, 1], [64], 65) == [-1, 0]
    assert is_pending([-1, 1], 64)
    assert not is_pending([-1, 1], 200)
    assert is_pending(True, 9)
    assert not is_pending(False, -1)


def test_a_letter_without_a_key_has_none():
    [message] = messages_in(PLACE, entry_of())
    assert DeadLetter(message, TOPIC, b"").key == ""
