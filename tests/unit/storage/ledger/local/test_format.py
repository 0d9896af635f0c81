import google_crc32c
import pytest
from unit.storage.ledger.local.support import SALT, stamp
from unit.storage.ledger.local.support import block as record_of

from magnetar.inner import cut_records
from magnetar.inner.record import ENTRIES_MAX, HEAD_SIZE
from magnetar.storage.ledger.local.format import (
    Kind,
    Stamp,
    encode_mark,
    head_at,
    head_intact,
    located,
    location,
    move,
    tables_at,
)

GENERATION = 7
STAMP = stamp(GENERATION)
SMALL = [b"a", b"", b"ccc"]
LARGE = [b"x" * 5000, b"y" * 6000]


def block(data, stamp=STAMP):
    return record_of(stamp, 4096, 12, 34, *data)


def body_intact(record):
    """Whether all of a record is, its body with it."""
    end, *_ = cut_records(record, 0, len(record), 2**20, SALT, STAMP.seed, True)
    return end == len(record)


@pytest.mark.parametrize("data", [SMALL, LARGE, [b"one"], [b""]])
def test_a_block_says_what_it_holds(data):
    record = block(data)
    head = head_at(record, 0, STAMP)
    assert (head.kind, head.synced, head.ledger_id, head.first) == (Kind.BLOCK, 4096, 12, 34)
    assert head.entries == len(data)
    assert head.body_size == sum(map(len, data))
    assert head.size == len(record)
    lengths, checksums = tables_at(record, 0, head)
    assert lengths == [*map(len, data)]
    assert checksums == [*map(google_crc32c.value, data)]
    assert record.endswith(b"".join(data))
    assert head_intact(record, 0, STAMP, head)
    assert body_intact(record)


def test_a_block_is_read_wherever_it_lies():
    buffer = b"junk" + block(SMALL) + b"more"
    head = head_at(buffer, 4, STAMP)
    assert head_intact(buffer, 4, STAMP, head)


@pytest.mark.parametrize("data", [SMALL, LARGE, [b"one"], [b""]])
def test_any_flipped_bit_is_noticed(data):
    record = bytearray(block(data))
    step = max(1, len(record) // 400)
    for at in range(0, len(record), step):
        record[at] ^= 1 << (at % 8)
        head = head_at(bytes(record), 0, STAMP)
        assert (
            head is None
            or head.size != len(record)
            or not head_intact(bytes(record), 0, STAMP, head)
            or not body_intact(bytes(record))
        )
        record[at] ^= 1 << (at % 8)


def test_a_record_of_an_earlier_life_of_the_file_is_none():
    assert head_at(block(SMALL, Stamp(6, b"of older")), 0, STAMP) is None


def test_what_is_too_short_is_no_record():
    assert head_at(block(SMALL)[: HEAD_SIZE - 1], 0, STAMP) is None


def test_a_header_with_absurd_numbers_is_not_believed():
    record = bytearray(block(SMALL))
    record[52:56] = (ENTRIES_MAX + 1).to_bytes(4, "little")
    assert head_at(bytes(record), 0, STAMP) is None


@pytest.mark.parametrize("kind", [Kind.CREATED, Kind.ENDED, Kind.DELETED])
def test_a_mark_is_a_header_alone(kind):
    record = encode_mark(kind, STAMP, 4096, 12, 34)
    head = head_at(record, 0, STAMP)
    assert len(record) == head.size == HEAD_SIZE
    assert (head.kind, head.ledger_id, head.first) == (kind, 12, 34)
    assert head_intact(record, 0, STAMP, head)


@pytest.mark.parametrize("data", [SMALL, LARGE])
def test_a_moved_block_is_the_same_for_another_segment(data):
    record = block(data)
    other = Stamp(8, b"another.")
    moved = b"".join(move(record, head_at(record, 0, STAMP), other, 9000))
    head = head_at(moved, 0, other)
    assert head.synced == 9000
    assert head_intact(moved, 0, other, head)
    assert moved[HEAD_SIZE:] == record[HEAD_SIZE:]
    assert head_at(moved, 0, STAMP) is None


def test_what_a_later_version_wrote_into_a_header_moves_along():
    """A flag, and the bytes that are zero today."""
    record = bytearray(block(SMALL))
    record[13] |= 0x80
    record[14:16], record[56:64] = b"ab", b"cdefghij"
    moved = b"".join(move(bytes(record), head_at(bytes(record), 0, STAMP), STAMP, 9000))
    assert moved[12:20] == record[12:20]
    assert moved[28:] == record[28:]
    assert head_intact(moved, 0, STAMP, head_at(moved, 0, STAMP))


def test_locations_sort_in_the_order_of_the_log():
    places = [(1, 0), (1, 2**36 - 1), (2, 0), (2**28 - 1, 5)]
    packed = [location(*place) for place in places]
    assert packed == sorted(packed)
    assert [located(place) for place in packed] == places
    assert max(packed) < 2**64


def test_every_record_starts_with_the_salt():
    assert block(SMALL).startswith(SALT)
    assert encode_mark(Kind.CREATED, STAMP, 0, 1).startswith(SALT)


@pytest.mark.parametrize("other", [Stamp(GENERATION, b"another."), stamp(GENERATION + 1)])
def test_a_record_with_another_stamp_is_not_intact(other):
    record = block(SMALL, other)
    disguised = SALT + record[8:]
    head = head_at(disguised, 0, STAMP)
    assert head is not None
    assert not head_intact(disguised, 0, STAMP, head)


def test_a_salt_has_eight_bytes():
    with pytest.raises(AssertionError, match="8 bytes"):
        Stamp(1, b"short")
