import pytest
from google_crc32c import value as checksum

from magnetar.errors import CorruptEntry
from magnetar.model.position import Position
from magnetar.storage.codec.compacted_entry import CompactedEntry
from magnetar.storage.codec.pulsar.compacted_entry import decode_compacted, encode_compacted

OF_A_BROKER = bytes.fromhex(
    "0000000f0802100918ffffffffffffffffff010000001d"
    "0e01227f09aa000000120a036f6e6510091887d1fed2a03432026b3039"
)
"""What a broker of Pulsar 4.0.7 wrote: the last message of a key, entry 9 of ledger 2."""


def test_an_entry_that_pulsar_wrote():
    found = decode_compacted(OF_A_BROKER)
    assert found.position == Position(2, 9)
    assert found.data == OF_A_BROKER[29:]
    assert found.checksum == checksum(found.data) == 0x227F09AA


def test_an_entry_comes_back():
    entry = CompactedEntry(Position(300, 0), b"entry", checksum(b"entry"))
    stored, check = encode_compacted(entry)
    assert decode_compacted(stored) == entry
    assert check == checksum(stored)
    head = b"\x0e\x01" + entry.checksum.to_bytes(4, "big")
    assert stored == b"\0\0\0\x05\x08\xac\x02\x10\0\0\0\0\x0b" + head + b"entry"


@pytest.mark.parametrize(
    "stored", [b"", OF_A_BROKER[:3], OF_A_BROKER[:20], OF_A_BROKER[:-1], b"\0\0\0\1\xff\0\0\0\0"]
)
def test_what_is_none_says_what_to_do(stored):
    with pytest.raises(CorruptEntry, match="compact again"):
        decode_compacted(stored)
