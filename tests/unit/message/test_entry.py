"""message/entry.py: metadata and payload, put together and taken apart."""

import pytest

from magnetar.errors import CorruptEntry
from magnetar.message.entry import checksum, join, payload_start, split


def test_there_and_back():
    entry = join(b"metadata", b"payload")
    assert entry == b"\0\0\0\x08metadatapayload"
    metadata, payload = split(entry)
    assert (metadata, bytes(payload)) == (b"metadata", b"payload")


def test_metadata_and_payload_may_be_empty():
    metadata, payload = split(join(b"", b""))
    assert (metadata, bytes(payload)) == (b"", b"")
    assert payload_start(join(b"m", b"")) == 5


@pytest.mark.parametrize("entry", [b"", b"\0\0\0", b"\0\0\0\x05meta", b"\xff\xff\xff\xffmeta"])
def test_metadata_that_does_not_fit_is_corrupt(entry):
    with pytest.raises(CorruptEntry, match=r"up to byte"):
        split(entry)


def test_the_checksum_is_castagnolis():
    assert checksum(b"123456789") == 0xE3069283
