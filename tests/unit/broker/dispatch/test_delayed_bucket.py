"""Buckets: what is written of delayed entries is read again, and damage is found."""

import pytest

from magnetar.broker.dispatch.delayed_bucket import (
    SEGMENT_ENTRIES,
    decode_footer,
    decode_segment,
    encode_bucket,
    encode_footer,
    footer_of,
)
from magnetar.errors import CorruptEntry

DELAYED = sorted((1_700_000_000_000 + 7 * n % 5_000, n % 3, n) for n in range(620))


def test_a_bucket_is_read_as_it_was_written():
    *segments, footer = encode_bucket(DELAYED, footer_of(DELAYED))
    assert [len(decode_segment(each)) for each in segments] == [SEGMENT_ENTRIES] * 2 + [120]
    assert [each for data in segments for each in decode_segment(data)] == DELAYED
    found = decode_footer(footer, last_entry_id=3)
    assert list(found.first_due_ms) == [DELAYED[n * SEGMENT_ENTRIES][0] for n in range(3)]
    assert set(found.entries.positions()) == {(ledger, entry) for _, ledger, entry in DELAYED}


@pytest.mark.parametrize(
    ("change", "last_entry_id", "why"),
    [
        (lambda footer: footer, 2, "not of this bucket"),
        (lambda footer: footer[:-9], 3, "damaged"),
        (lambda footer: b"MGDB\x02" + footer[5:], 3, "no footer that this Magnetar reads"),
        (lambda _: encode_bucket(DELAYED, footer_of(DELAYED))[0], 0, "no footer"),
        (lambda _: encode_footer(footer_of(DELAYED[:1]))[:6], 1, "damaged"),
    ],
)
def test_what_is_no_footer_is_not_read(change, last_entry_id, why):
    footer = encode_bucket(DELAYED, footer_of(DELAYED))[-1]
    with pytest.raises(CorruptEntry, match=why):
        decode_footer(change(footer), last_entry_id)


def test_a_segment_of_another_size_is_not_read():
    with pytest.raises(CorruptEntry, match="25 bytes"):
        decode_segment(bytes(25))
