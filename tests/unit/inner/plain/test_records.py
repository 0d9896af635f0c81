import google_crc32c
import pytest
from unit.inner.builds import both_builds

from magnetar.inner.plain.records import LEDGERS_MAX
from magnetar.inner.record import JOIN_BELOW

SALT = b"a salt.."
SEED = 12345
PLACE = 3 << 36 | 4096


def block(loops, ledger_id, first, *entries, synced=0):
    checksums = [google_crc32c.value(entry) for entry in entries]
    return loops.encode_block(SALT, SEED, synced, ledger_id, first, list(entries), checksums)


def cut(loops, data, position=0, end=None, *, verify_bodies=True):
    end = len(data) if end is None else end
    return loops.cut_records(data, position, end, PLACE, SALT, SEED, verify_bodies)


@both_builds
def test_small_entries_become_one_piece_and_large_ones_are_handed_on(loops):
    assert len(block(loops, 1, 0, b"a", b"b")) == 1
    large = bytes(JOIN_BELOW)
    pieces = block(loops, 1, 0, large, large)
    assert len(pieces) == 3
    assert pieces[1] is pieces[2] is large


@both_builds
def test_what_was_written_is_found(loops):
    pieces = [*block(loops, 1, 0, b"a", b"bc"), *block(loops, 2, 7, bytes(1000), synced=4096)]
    third = b"".join(block(loops, 1, 2, b""))
    data = b"".join(pieces) + third
    at = len(pieces[0])
    blocks = [
        (1, [0, 2], [PLACE, PLACE + len(data) - len(third)], 3, 3, at + len(third)),
        (2, [7], [PLACE + at], 8, 1000, 1072),
    ]
    assert cut(loops, data) == (len(data), 4096, blocks, [])
    assert cut(loops, data, at) == (
        len(data),
        4096,
        [blocks[1], (1, [2], [PLACE + len(data) - len(third)], 3, 0, len(third))],
        [],
    )


@both_builds
@pytest.mark.parametrize("entries", [[b"a", b"bc"], [b"a"], [bytes(1000), bytes(999)]])
def test_a_damaged_record_ends_it(loops, entries):
    first, damaged = (b"".join(block(loops, 1, n, *entries)) for n in (0, 5))
    for at in range(0, len(damaged), max(1, len(damaged) // 150)):
        bad = bytearray(damaged)
        bad[at] ^= 1
        assert cut(loops, first + bad)[0] == len(first)
    bad = damaged[:-1] + bytes([damaged[-1] ^ 1])
    assert cut(loops, first + bad, verify_bodies=False)[0] == 2 * len(first)
    assert cut(loops, first + damaged[:-1])[0] == len(first)


@both_builds
def test_bodies_need_not_be_there_where_nobody_looks_at_them(loops):
    data = b"".join(block(loops, 1, 0, bytes(1000)))
    end = len(data)
    assert cut(loops, data[:72], end=end, verify_bodies=False)[0] == end
    assert cut(loops, data[:71], end=end, verify_bodies=False)[0] == 0
    assert cut(loops, data[:72], end=end - 1, verify_bodies=False)[0] == 0


@both_builds
def test_a_record_that_vouches_for_itself_is_none(loops):
    assert cut(loops, b"".join(block(loops, 1, 0, b"a", synced=4097)))[0] == 0


@both_builds
def test_there_are_only_so_many_ledgers(loops):
    records = [b"".join(block(loops, number, 0, b"a")) for number in range(LEDGERS_MAX + 1)]
    end, _, blocks, _ = cut(loops, b"".join(records + records))
    assert (end, len(blocks)) == (LEDGERS_MAX * len(records[0]), LEDGERS_MAX)


@both_builds
def test_numbers_that_do_not_fit_are_refused(loops):
    for arguments in (
        (b"short", SEED, 0, 1, 0, [b"a"], [1]),
        (SALT, SEED, 0, 1, 0, [b"a"], []),
    ):
        with pytest.raises(ValueError, match="salt"):
            loops.encode_block(*arguments)
    for checksum in (-1, 2**32, 2**64, "x", None):
        with pytest.raises(ValueError, match="32 bits"):
            loops.encode_block(SALT, SEED, 0, 1, 0, [b"a"], [checksum])
    for position, end in ((-1, 5), (6, 5), (0, -1)):
        with pytest.raises(ValueError, match=r"position|size"):
            loops.cut_records(b"abcde", position, end, PLACE, SALT, SEED, True)
