import struct

import pytest

from magnetar.errors import InvalidValue
from magnetar.message.compression import CompressionType, compress
from magnetar.proto.ManagedLedger_pb2 import CompressionMetadata, ManagedCursorInfo
from magnetar.storage.codec.pulsar.message import parse, parse_entry, unknown_of

PLAIN = ManagedCursorInfo(cursorsLedgerId=-1, markDeleteLedgerId=3, markDeleteEntryId=7)


def compressed(kind, data, size=None):
    """A record as Pulsar writes it where ``managedCursorInfoCompressionType`` is set."""
    head = CompressionMetadata(
        compressionType=kind, uncompressedSize=len(data) if size is None else size
    ).SerializeToString()
    return b"\x47\x78" + struct.pack(">I", len(head)) + head + compress(kind, data)


@pytest.mark.parametrize("kind", list(CompressionType))
def test_a_record_may_be_compressed(kind):
    data = PLAIN.SerializeToString()
    assert parse(ManagedCursorInfo, compressed(kind, data)) == PLAIN
    assert parse(ManagedCursorInfo, data) == PLAIN


@pytest.mark.parametrize(
    "value",
    [
        b"\x47\x78\x00",
        compressed(CompressionType.ZLIB, PLAIN.SerializeToString())[:-1],
        compressed(CompressionType.ZSTD, PLAIN.SerializeToString(), size=2**40 // 1024),
        compressed(CompressionType.NONE, b"\xff"),
        b"\x47\x78" + struct.pack(">I", 1) + b"\xff",
        b"\xff",
    ],
)
def test_what_is_none_is_refused(value):
    with pytest.raises(InvalidValue):
        parse(ManagedCursorInfo, value)


def test_an_entry_is_never_compressed():
    assert parse_entry(ManagedCursorInfo, PLAIN.SerializeToString()) == PLAIN
    with pytest.raises(InvalidValue):
        parse_entry(ManagedCursorInfo, compressed(CompressionType.LZ4, PLAIN.SerializeToString()))


def test_what_is_left_are_fields_that_nobody_took():
    field_of_later = b"\xf8\x01\x05"  # Number 31, a varint.
    message = parse(ManagedCursorInfo, PLAIN.SerializeToString() + field_of_later)
    fields = ("cursorsLedgerId", "markDeleteLedgerId", "markDeleteEntryId")
    assert unknown_of(message, fields) == {"protobuf": field_of_later}
    assert unknown_of(ManagedCursorInfo(cursorsLedgerId=-1), fields) == {}
