"""Entries as bookies store them: bytes that BookKeeper's own client reads."""

import pytest

from magnetar.errors import CorruptEntry
from magnetar.storage.ledger.bookkeeper.digest import SIZES
from magnetar.storage.ledger.bookkeeper.entry_format import EntryFormat
from magnetar.storage.ledger.bookkeeper.ledger_metadata import DigestType

ENTRIES = EntryFormat(1, DigestType.CRC32C, b"")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (DigestType.CRC32C, "e3a5f74d"),
        (DigestType.CRC32, "0000000030a56872"),
        (DigestType.HMAC, "985ff33d73766e6ab95e91f14097a562ffc64ae8"),
        (DigestType.DUMMY, ""),
    ],
)
def test_an_entry_has_the_digest_of_its_ledger(kind, expected):
    entries = EntryFormat(1, kind, b"secret")
    head, payload = entries.adds(0, -1, 0, [b"hello"])
    assert (head + payload).hex().endswith(expected + b"hello".hex())
    assert len(head) == 60 + SIZES[kind]
    stored = (head + payload)[28:]
    opened = entries.check(stored, 0)
    assert (opened.entry_id, opened.last_confirmed, opened.length) == (0, -1, 5)
    assert opened.payload == b"hello"


def test_what_is_put_before_data_is_of_the_payload():
    pieces = ENTRIES.adds(0, -1, 0, [b"llo", b"!"], heads=[b"he", b"oh"])
    whole = ENTRIES.adds(0, -1, 0, [b"hello", b"oh!"])
    assert b"".join(pieces) == b"".join(whole)
    assert pieces[1::2] == [b"llo", b"!"]


def test_an_entry_that_was_changed_is_not_taken():
    stored = b"".join(ENTRIES.adds(0, -1, 0, [b"hello"]))[28:]
    for changed, said in (
        (stored[:-1] + b"x", "fails its digest"),
        (stored[:20], "too few"),
    ):
        with pytest.raises(CorruptEntry, match=said):
            ENTRIES.check(changed, 0)
    with pytest.raises(CorruptEntry, match="where entry 3 of ledger 1 was asked for"):
        ENTRIES.check(stored, 3)
