"""Entries as bookies store them: bytes that BookKeeper's own client reads."""

import pytest

from magnetar.errors import CorruptEntry
from magnetar.inner import checksum
from magnetar.storage.ledger.bookkeeper.digest import SIZES
from magnetar.storage.ledger.bookkeeper.entry_format import TOGETHER_MAX, EntryFormat
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
    (adds,) = entries.adds(0, -1, 0, [b"hello"])
    frame = b"".join(adds.pieces)
    assert frame.hex().endswith(expected + b"hello".hex())
    assert len(frame) == 60 + SIZES[kind] + 5
    stored = frame[28:]
    opened = entries.check(stored, 0)
    assert (opened.entry_id, opened.last_confirmed, opened.length) == (0, -1, 5)
    assert opened.payload == b"hello"


@pytest.mark.parametrize("kind", DigestType)
def test_a_message_is_stored_with_its_checksum_before_it(kind):
    entries = EntryFormat(1, kind, b"secret")
    (adds,) = entries.adds(0, -1, 0, [b"hello"], [258])
    opened = entries.check(b"".join(adds.pieces)[28:], 0)
    assert (opened.length, opened.payload) == (11, b"\x0e\x01\0\0\1\2hello")


@pytest.mark.parametrize("checksums", [None, list(range(7))])
def test_so_many_are_added_together_and_no_more(checksums):
    data = [b"%d" % number for number in range(7)]
    (whole,) = ENTRIES.adds(3, -1, 50, data, checksums)
    parts = ENTRIES.adds(3, -1, 50, data, checksums, together=3)
    assert [part.entries for part in parts] == [3, 3, 1]
    assert b"".join(piece for part in parts for piece in part.pieces) == b"".join(whole.pieces)


@pytest.mark.parametrize("kind", DigestType)
def test_entries_are_opened_whatever_stands_before_the_message(kind):
    entries = EntryFormat(1, kind, b"secret")
    usual, bare, twice = (
        b"".join(entries.adds(at, -1, 0, [data], sums)[0].pieces)[28:]
        for at, (data, sums) in enumerate(
            [(b"one", [1]), (b"two", None), (b"\x0e\x02\0\0\0\1x\x0e\x01\0\0\0\0three", None)]
        )
    )
    opened = entries.open([usual, bare, twice], 0, messages=True)
    assert opened.data == [b"one", b"two", b"three"]
    assert opened.checksums == [checksum(each) for each in opened.data]
    as_they_are = entries.open([usual, bare], 0, messages=False)
    assert as_they_are.data == [b"\x0e\x01\0\0\0\1one", b"two"]
    with pytest.raises(CorruptEntry, match="entry 1 of ledger 1 was asked for"):
        entries.open([usual, twice], 0, messages=True)


def test_a_bookie_takes_only_so_many_together():
    parts = ENTRIES.adds(0, -1, 0, [b""] * (2 * TOGETHER_MAX + 1))
    assert [part.entries for part in parts] == [TOGETHER_MAX, TOGETHER_MAX, 1]


def test_an_entry_that_was_changed_is_not_taken():
    (adds,) = ENTRIES.adds(0, -1, 0, [b"hello"])
    stored = b"".join(adds.pieces)[28:]
    for changed, said in (
        (stored[:-1] + b"x", "fails its digest"),
        (stored[:20], "too few"),
    ):
        with pytest.raises(CorruptEntry, match=said):
            ENTRIES.check(changed, 0)
    with pytest.raises(CorruptEntry, match="where entry 3 of ledger 1 was asked for"):
        ENTRIES.check(stored, 3)
