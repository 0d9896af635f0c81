"""The frames and digests of BookKeeper: bytes that its own client and bookies agree on."""

import pytest

from magnetar.errors import CorruptEntry
from magnetar.storage.ledger.bookkeeper import wire
from magnetar.storage.ledger.bookkeeper.digest import master_key
from magnetar.storage.ledger.bookkeeper.entry_format import EntryFormat
from magnetar.storage.ledger.bookkeeper.ledger_metadata import DigestType

KEY = master_key(b"")
ENTRIES = EntryFormat(1, DigestType.CRC32C, b"")
ADD = (
    "0000004102010000850bf1071c5e3d8c24235676f8816ae0cbe2f14f00000000000000010000000000000000"
    "ffffffffffffffff0000000000000005e3a5f74d68656c6c6f"
)


def answer(opcode, code, ledger_id, entry_id, rest=b""):
    body = (2 << 24 | opcode << 16).to_bytes(4, "big") + code.to_bytes(4, "big")
    body += ledger_id.to_bytes(8, "big") + entry_id.to_bytes(8, "big", signed=True) + rest
    return len(body).to_bytes(4, "big") + body


def test_requests_are_the_bytes_that_bookies_expect():
    (adds,) = ENTRIES.adds(0, -1, 0, [b"hello"])
    assert b"".join(adds.pieces).hex() == ADD
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
    assert answers.added == [(5, 1, 1), (6, 0, 0)]
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
