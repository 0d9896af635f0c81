"""storage/codec/compacted_entry.py: an entry with its place in the log."""

import pytest
from google_crc32c import value as checksum

from magnetar.errors import CorruptEntry
from magnetar.model.position import Position
from magnetar.storage.codec.compacted_entry import (
    CompactedEntry,
    decode_compacted,
    encode_compacted,
)


@pytest.mark.parametrize("data", [b"", b"an entry"])
def test_an_entry_comes_back_with_its_place_and_its_checksum(data):
    entry = CompactedEntry(Position(2**40, 7), data, 0xFFFFFFFF)
    stored, check = encode_compacted(entry)
    assert check == checksum(stored)
    assert decode_compacted(stored) == entry


def test_the_format_is_as_it_is_described():
    stored, _ = encode_compacted(CompactedEntry(Position(1, 2), b"x", 3))
    assert stored == bytes.fromhex("0000000000000001 0000000000000002 00000003") + b"x"


def test_what_is_cut_off_is_corrupt():
    with pytest.raises(CorruptEntry):
        decode_compacted(b"\0" * 19)
