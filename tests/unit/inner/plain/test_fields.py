"""inner/plain/fields.py: what is written, what is read, and what is left to protobuf."""

import pytest
from unit.inner.builds import both_builds

from magnetar.inner.plain.fields import UnusualForm, fields, is_pair
from magnetar.proto import PulsarApi_pb2 as pb


def read(data):
    return list(fields(data, 0, len(data)))


def test_numbers_and_bytes_come_with_their_tags():
    data = pb.MessageMetadata(
        producer_name="p", sequence_id=300, publish_time=1, ordering_key=b"\xff"
    ).SerializeToString()
    assert read(data) == [(0x0A, 1, b"p"), (0x10, 300, b""), (0x18, 1, b""), (146, 1, b"\xff")]


def test_only_what_lies_between_the_bounds_is_read():
    assert list(fields(b"??\x10\x05??", 2, 4)) == [(0x10, 5, b"")]
    with pytest.raises(UnusualForm):
        list(fields(b"\x0a\x03abc", 0, 4))


@pytest.mark.parametrize(
    "data",
    [
        b"\x10",
        b"\x10\x80",
        b"\x0a\x02a",
        b"\x0d\0\0\0\0",  # Of a fixed size.
        b"\x0b\x0c",  # A group.
        b"\x90\x80\x00\x05",  # A tag of three bytes.
        b"\x0a\x81\x80\x80\x80\x00a",  # A size of five bytes.
        b"\x10" + b"\xff" * 9 + b"\x02",
    ],
)
def test_other_forms_are_not(data):
    with pytest.raises(UnusualForm):
        read(data)


def test_a_pair_is_key_and_value():
    assert is_pair(pb.KeyValue(key="k", value="v").SerializeToString())
    for data in (b"", b"\x0a\x00", b"\x12\x00\x0a\x00", b"\x0a\x00\x12\x00\x18\x00", b"\x0a"):
        assert not is_pair(data)


@both_builds
def test_fields_are_written_as_protobuf_does(loops):
    pairs = [pb.KeyValue(key="a", value="b"), pb.KeyValue(key="", value="c" * 300)]
    metadata = pb.MessageMetadata(
        producer_name="p", sequence_id=2**64 - 1, publish_time=0, properties=pairs, null_value=True
    )
    written = loops.write_fields(
        [0x0A, 0x10, 0x18, 0x22, 0x32, 200],
        [b"p", -1, 0, [each.SerializeToString() for each in pairs], None, True],
    )
    assert written == metadata.SerializeToString()
    assert loops.write_fields([], []) == b""


@both_builds
def test_fields_that_make_no_sense_are_not_written(loops):
    with pytest.raises(ValueError, match=r"as many|shorter"):
        loops.write_fields([1, 2], [1])
    for value in ("text", 1.5, [5], ["text"]):
        with pytest.raises(TypeError):
            loops.write_fields([0x0A], [value])
