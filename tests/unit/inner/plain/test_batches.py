"""inner/plain/batches.py: how far a payload is taken apart; message/batch.py has more."""

import gc

import pytest
from unit.inner.builds import both_builds

from magnetar.inner.plain import loops as plain
from magnetar.proto import PulsarApi_pb2 as pb

pytestmark = both_builds


def single(body, **fields):
    head = pb.SingleMessageMetadata(payload_size=len(body), **fields).SerializeToString()
    return head, len(head).to_bytes(4) + head + body


def test_heads_of_all_kinds_are_read(loops):
    kinds = [
        {},
        {"sequence_id": 2**64 - 1, "event_time": 5, "null_value": True, "compacted_out": True},
        {"partition_key": "k" * 200, "partition_key_b64_encoded": True, "ordering_key": b"o"},
        {"properties": [pb.KeyValue(key="a", value="b")] * 2, "null_partition_key": False},
    ]
    parts = [single(b"body %d" % index, **kind) for index, kind in enumerate(kinds)]
    payload = b"??" + b"".join(whole for _, whole in parts) + b"more"
    expected = [head for head, _ in parts], [b"body %d" % index for index in range(4)]
    assert loops.unpack(payload, 2, 9) == (len(payload) - 4, *expected)
    assert loops.unpack(payload, 2, 1)[1:] == ([parts[0][0]], [b"body 0"])


@pytest.mark.parametrize(
    "bad",
    [
        b"\0\0\0\0",
        b"\0\0\0\x02\x18",
        b"\0\0\0\x02\x18\x05body",
        b"\0\0\0\x04\x18\x01\x58\x00b",  # A field nobody knows.
        b"\0\0\0\x06\x18\x01\x0a\x02\x0a\x00b",  # Half a property.
        b"\0\0\0\x0b\x18" + b"\xff" * 9 + b"\x01b",
        b"\xff\xff\xff\xff\x18\x00",
    ],
)
def test_it_stops_before_what_it_cannot_read(loops, bad):
    head, good = single(b"body", sequence_id=1)
    assert loops.unpack(good + bad, 0, 9) == (len(good), [head], [b"body"])


class Row(tuple):
    __slots__ = ()


def test_messages_come_as_the_kind_of_tuple_that_is_asked_for(loops):
    parts = [single(b"body %d" % index, sequence_id=index) for index in range(300)]
    payload = b"".join(whole for _, whole in parts)
    owner = object()
    found = loops.unpack_as(Row, owner, b"??" + payload + b"\0\0\0\0", 2, 999)
    assert found == [
        (owner, index, head, b"body %d" % index) for index, (head, _) in enumerate(parts)
    ]
    assert {type(row) for row in found} == {Row}
    assert [row[1] for row in loops.unpack_as(tuple, None, payload, 0, 2)] == [0, 1]
    with pytest.raises(TypeError):
        loops.unpack_as(list, owner, payload, 0, 1)


def test_making_many_costs_no_looking_for_garbage_among_them(loops):
    found = loops.unpack_as(Row, object(), single(b"body", sequence_id=1)[1] * 9, 0, 9)
    assert [gc.is_tracked(row) for row in found] == [loops is plain] * 9


def test_packed_messages_are_numbered(loops):
    packed = loops.pack([b"a", b"", b"c" * 300], 127, None)
    parts = [(b"a", 127), (b"", 128), (b"c" * 300, 129)]
    assert packed == b"".join(single(body, sequence_id=number)[1] for body, number in parts)
    assert loops.pack([], 5, None) == b""


def test_what_makes_no_sense_is_refused(loops):
    for arguments in [(b"", 1, 9), (b"", -1, 9), (b"", 0, -1)]:
        with pytest.raises(ValueError, match=r"position|size"):
            loops.unpack(*arguments)
