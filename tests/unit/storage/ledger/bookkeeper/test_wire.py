"""The frames and digests of BookKeeper: bytes that its own client and bookies agree on."""

import pytest

from magnetar.errors import CorruptEntry
from magnetar.storage.ledger.bookkeeper import wire
from magnetar.storage.ledger.bookkeeper.digest import SIZES, digest_of, master_key
from magnetar.storage.ledger.bookkeeper.ledger_metadata import DigestType

KEY = master_key(b"")
ADD = (
    "0000004102010000850bf1071c5e3d8c24235676f8816ae0cbe2f14f00000000000000010000000000000000"
    "ffffffffffffffff0000000000000005e3a5f74d68656c6c6f"
)


def answer(opcode, code, ledger_id, entry_id, rest=b""):
    body = (2 << 24 | opcode << 16).to_bytes(4, "big") + code.to_bytes(4, "big")
    body += ledger_id.to_bytes(8, "big") + entry_id.to_bytes(8, "big", signed=True) + rest
    return len(body).to_bytes(4, "big") + body


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
    digest = digest_of(kind, b"secret")
    head, payload = wire.add_frames(KEY, 1, 0, -1, 0, [b"hello"], digest)
    assert (head + payload).hex().endswith(expected + b"hello".hex())
    assert len(head) == 60 + SIZES[kind]
    stored = (head + payload)[28:]
    opened = wire.open_entry(stored, 1, 0, digest, SIZES[kind])
    assert (opened.entry_id, opened.last_confirmed, opened.length) == (0, -1, 5)
    assert opened.payload == b"hello"


def test_requests_are_the_bytes_that_bookies_expect():
    digest = digest_of(DigestType.CRC32C, b"")
    assert b"".join(wire.add_frames(KEY, 1, 0, -1, 0, [b"hello"], digest)).hex() == ADD
    fenced = wire.read_frame(1, wire.LAST_ENTRY, wire.Flag.FENCE, KEY)
    assert fenced.hex() == "00000028020200010000000000000001ffffffffffffffff" + KEY.hex()
    batch = wire.batch_read_frame(1, 0, 7, 100, 1024 * 1024)
    assert batch.hex() == (
        "0000002802070000000000000000000100000000000000000000000000000007000000640000000000100000"
    )


def test_answers_are_cut_whatever_arrives_of_them():
    data = answer(1, 0, 5, 1) + answer(1, 104, 5, 2) + answer(1, 0, 6, 0) + answer(2, 0, 5, 9, b"e")
    data += answer(7, 0, 5, 0, (3).to_bytes(8, "big") + (2).to_bytes(4, "big") + b"xy")
    for size in range(len(data) + 1):
        answers, end = wire.cut_answers(data[:size])
        assert end <= size
        assert data[end:].startswith(b"\0\0\0") or end == len(data)
    assert answers.added == {5: [1], 6: [0]}
    assert answers.failed == [(5, 2, 104)]
    assert answers.reads == [(0, 5, 9, b"e")]
    assert answers.batches == [(0, 3, [b"xy"])]


@pytest.mark.parametrize(
    "broken",
    [
        answer(9, 0, 1, 1),
        answer(7, 0, 5, 0, (3).to_bytes(8, "big") + (9).to_bytes(4, "big") + b"xy"),
    ],
)
def test_what_no_bookie_would_send_is_told(broken):
    with pytest.raises(CorruptEntry, match="a bookie sent"):
        wire.cut_answers(broken)


def test_an_entry_that_was_changed_is_not_taken():
    digest = digest_of(DigestType.CRC32C, b"")
    stored = b"".join(wire.add_frames(KEY, 1, 0, -1, 0, [b"hello"], digest))[28:]
    for changed, said in (
        (stored[:-1] + b"x", "fails its digest"),
        (stored[:20], "too few"),
    ):
        with pytest.raises(CorruptEntry, match=said):
            wire.open_entry(changed, 1, 0, digest, 4)
    with pytest.raises(CorruptEntry, match="where entry 3 of ledger 1 was asked for"):
        wire.open_entry(stored, 1, 3, digest, 4)
