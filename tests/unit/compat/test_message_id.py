"""Ids of messages are those of the official client: order, text, bytes."""

import pulsar
import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar import compat
from magnetar.compat.message_id import MessageId
from magnetar.model.position import ChunkedMessageId, Position

numbers = st.integers(min_value=0, max_value=2**63 - 1)
small = st.integers(min_value=-1, max_value=2**31 - 1)
fields = st.tuples(small, numbers, numbers, small)


def both(partition, ledger_id, entry_id, batch_index):
    return [
        kind(partition, ledger_id, entry_id, batch_index) for kind in (MessageId, pulsar.MessageId)
    ]


@given(fields)
def test_an_id_prints_and_is_written_as_theirs(of):
    ours, official = both(*of)
    assert str(ours) == str(official)
    assert ours.serialize() == official.serialize()
    for name in ("ledger_id", "entry_id", "partition", "batch_index"):
        assert getattr(ours, name)() == getattr(official, name)()
    assert MessageId.deserialize(official.serialize()) == ours
    assert str(pulsar.MessageId.deserialize(ours.serialize())) == str(ours)


@given(fields, fields)
def test_ids_of_one_partition_compare_as_theirs(one, other):
    """Of those of two partitions theirs says that each is above the other."""
    other = (one[0], *other[1:])
    for left, right in ((one, other), (one, (one[0], *one[1:3], other[3])), (one, one)):
        ours, theirs = (
            (MessageId(*left), MessageId(*right)),
            (
                pulsar.MessageId(*left),
                pulsar.MessageId(*right),
            ),
        )
        assert (ours[0] == ours[1]) is (theirs[0] == theirs[1])
        assert (ours[0] != ours[1]) is (theirs[0] != theirs[1])
        assert (ours[0] < ours[1]) is (theirs[0] < theirs[1])
        assert (ours[0] >= ours[1]) is (theirs[0] >= theirs[1])
        if ours[0] == ours[1]:
            assert hash(ours[0]) == hash(ours[1])


def test_the_ends_are_theirs():
    for name in ("earliest", "latest"):
        ours, official = getattr(MessageId, name), getattr(pulsar.MessageId, name)
        assert str(ours) == str(official)
        assert ours.serialize() == official.serialize()
        assert isinstance(ours, compat.MessageId)
    assert MessageId() == MessageId.earliest


@pytest.mark.parametrize(
    "data", [b"", b"xx", b"\xff\xff", b"\x08\x01", b"\x08\x01\x10", b"\x08\x01\x10\x02\x3a\x05"]
)
def test_what_is_no_id_is_refused_by_value_error(data):
    with pytest.raises(ValueError, match="Failed to parse"):
        MessageId.deserialize(data)


def test_what_is_not_bytes_is_refused_by_type_error():
    with pytest.raises(TypeError):
        MessageId.deserialize(None)


def test_an_id_is_not_equal_to_something_else():
    assert MessageId() != 5
    with pytest.raises(TypeError):
        MessageId() < 5  # noqa: B015


def test_an_id_of_a_chunked_message_keeps_its_first_chunk():
    whole = MessageId._of(ChunkedMessageId.of(7, 9, 1, first_chunk=Position(7, 3)))
    read = MessageId.deserialize(whole.serialize(), topic="t")
    assert read == whole
    assert read._id.first_chunk == (7, 3)
    assert read._topic == "t"
    assert MessageId.wrap(read) == whole
