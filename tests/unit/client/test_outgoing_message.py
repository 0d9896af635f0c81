from datetime import UTC, datetime, timedelta

import pytest

from magnetar.client.outgoing_message import (
    DELAY_S_MAX,
    OutgoingMessage,
    each_with,
    prepare,
    prepare_many,
)
from magnetar.errors import InvalidValue
from magnetar.schemas.primitives import StringSchema


def test_details_are_none_for_what_is_nothing_but_bytes():
    assert prepare(b"x") == (b"x", None)
    assert prepare(OutgoingMessage(b"x")) == (b"x", None)
    assert prepare(b"x", {"event_time_ms": 0}) == (b"x", OutgoingMessage(b"x", event_time_ms=0))


def test_a_message_is_a_value_with_details_or_a_message_with_its_own():
    with pytest.raises(InvalidValue, match="key: an OutgoingMessage has its own"):
        prepare(OutgoingMessage(b"x"), {"key": "k"})


def test_details_share_nothing_with_the_application():
    message = OutgoingMessage(b"x", "k", b"o", {"a": "b"}, 5, 6)
    _, taken = prepare(message)
    message.key, message.properties["a"] = None, 7
    assert taken == OutgoingMessage(b"x", "k", b"o", {"a": "b"}, 5, 6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"key": 1},
        {"ordering_key": "o"},
        {"properties": {"a": 1}},
        {"event_time_ms": -1},
        {"sequence_id": 2**70},
        {"deliver_at_ms": -1},
        {"schema_version": "1"},
        {"deliver_after_s": -1},
        {"deliver_after_s": "soon"},
    ],
)
def test_details_that_cannot_be_sent_are_refused_by_name(wrong):
    with pytest.raises(InvalidValue, match=next(iter(wrong))):
        prepare(b"x", wrong)


def test_a_message_without_a_value_has_no_payload():
    data, message = prepare(b"", {"key": "k", "null_value": True})
    assert (data, message.null_value, message.alone) == (b"", True, False)
    assert prepare(OutgoingMessage(None, "k", null_value=True))[0] == b""
    with pytest.raises(InvalidValue, match="null_value is set, and there is a value"):
        prepare(b"x", {"null_value": True})


def test_clusters_are_names():
    _, message = prepare(b"x", {"replication_clusters": ["a", "b"]})
    assert (message.replication_clusters, message.alone) == (("a", "b"), True)
    assert prepare(b"x", {"replication_clusters": ()})[1].replication_clusters == ()
    for wrong in ("a", [5]):
        with pytest.raises(InvalidValue, match="replication_clusters"):
            prepare(b"x", {"replication_clusters": wrong})


def test_a_delay_is_checked():
    _, after = prepare(b"x", {"deliver_after_s": 1.5})
    assert (after.alone, after.due_ms(1_000)) == (True, 2_500)
    _, at = prepare(b"x", {"deliver_at_ms": 7})
    assert (at.alone, at.due_ms(1_000)) == (True, 7)
    for wrong in ({"deliver_after_s": DELAY_S_MAX + 1}, {"deliver_after_s": float("nan")}):
        with pytest.raises(InvalidValue, match="deliver_after_s"):
            prepare(b"x", wrong)
    with pytest.raises(InvalidValue, match="leave one out"):
        prepare(b"x", {"deliver_after_s": 1, "deliver_at_ms": 2})


def test_times_may_be_those_of_python():
    due = datetime(1970, 1, 1, 0, 0, 9, tzinfo=UTC)
    _, at = prepare(b"x", {"deliver_at_ms": due, "event_time_ms": due})
    assert (at.due_ms(1_000), at.event_time_ms) == (9_000, 9_000)
    _, after = prepare(b"x", {"deliver_after_s": timedelta(seconds=1.5)})
    assert after.due_ms(1_000) == 2_500


def test_details_may_be_those_of_many_messages():
    given = each_with([b"1", b"2"], {"key": "k"})
    assert [(each.value, each.key) for each in given] == [(b"1", "k"), (b"2", "k")]
    plain = [b"1"]
    assert each_with(plain, {}) is plain
    with pytest.raises(InvalidValue, match="sequence_id is that of one message"):
        each_with([b"1"], {"sequence_id": 5})
    with pytest.raises(InvalidValue, match="an OutgoingMessage has its own"):
        each_with([OutgoingMessage(b"1")], {"key": "k"})
    with pytest.raises(InvalidValue, match="put the bytes into a list"):
        each_with(b"1", {"key": "k"})


def test_one_payload_is_not_many_messages():
    assert prepare_many(iter([b"a", b"b"])) == [b"a", b"b"]
    for payload in (b"ab", bytearray(b"ab"), memoryview(b"ab"), OutgoingMessage(b"ab")):
        with pytest.raises(InvalidValue, match=f"put the {type(payload).__name__} into a list"):
            prepare_many(payload)


def test_what_comes_asynchronously_is_refused_with_the_remedy():
    async def values():
        yield b"x"

    with pytest.raises(InvalidValue, match="of an asynchronous one, send a list of what has come"):
        prepare_many(values())


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_a_buffer_is_copied(kind):
    original = bytearray(b"before")
    plain, _ = prepare(kind(original))
    data, detailed = prepare(OutgoingMessage(kind(original), key="k"))
    original[:] = b"after!"
    assert plain == data == detailed.value == b"before"
    assert {type(plain), type(data), type(detailed.value)} == {bytes}
    assert prepare(memoryview(original)[::-1])[0] == b"!retfa"


def test_an_outgoing_message_counts_all_that_is_written():
    assert OutgoingMessage(b"12345", "abc", b"de", {"f": "gh"}).more_size == 8


def test_a_schema_encodes_the_value():
    schema = StringSchema()
    assert prepare("x", {}, schema) == (b"x", None)
    assert prepare("x", {"key": "k"}, schema) == (b"x", OutgoingMessage(b"x", "k"))
    many = prepare_many(iter(["x", OutgoingMessage("y", "k")]), schema)
    assert many == [b"x", OutgoingMessage(b"y", "k")]
    encoded = OutgoingMessage(b"z", schema_version=3)
    assert prepare(encoded, {}, schema) == (b"z", encoded)
    assert encoded.alone
    with pytest.raises(InvalidValue, match="must be str"):
        prepare_many(["x", 1], schema)
