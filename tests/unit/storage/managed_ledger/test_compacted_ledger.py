"""storage/managed_ledger/compacted_ledger.py: one ledger with what stayed."""

import pytest
from google_crc32c import value as checksum
from unit.storage.ledger.local.support import append as append_to

from magnetar.model.position import Position
from magnetar.storage.codec.compacted_entry import CompactedEntry, encode_compacted
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.managed_ledger import compacted_ledger
from magnetar.storage.managed_ledger.compacted_ledger import CompactedLedger

PLACES = [Position(3, 1), Position(3, 2), Position(3, 7), Position(5, 8), Position(9, 0)]


def data_at(place):
    return b"%d:%d" % place


@pytest.fixture
async def compacted():
    writer = await MemoryLedgerStore().create()
    entries = [CompactedEntry(each, data_at(each), checksum(data_at(each))) for each in PLACES]
    stored = list(map(encode_compacted, entries))
    await append_to(writer, [data for data, _ in stored], [check for _, check in stored])
    return CompactedLedger(writer, Position(9, 4), JsonCodec())


async def test_entries_that_follow_each_other_are_a_run(compacted):
    runs, following = await compacted.block(0)
    assert [(run.first, len(run)) for run in runs] == [
        (Position(3, 1), 2),
        (Position(3, 7), 1),
        (Position(5, 8), 1),
        (Position(9, 0), 1),
    ]
    assert runs[0].data == [b"3:1", b"3:2"]
    assert runs[0].checksums == [checksum(b"3:1"), checksum(b"3:2")]
    assert following == 5
    assert await compacted.block(5) == ([], 5)


async def test_a_block_is_limited(compacted, monkeypatch):
    monkeypatch.setattr(compacted_ledger, "BLOCK_ENTRIES_MAX", 2)
    runs, following = await compacted.block(1)
    assert ([run.first for run in runs], following) == ([Position(3, 2), Position(3, 7)], 3)


@pytest.mark.parametrize(
    ("position", "index"),
    [
        (Position(-1, -1), 0),
        (Position(3, 1), 0),
        (Position(3, 3), 2),
        (Position(4, 0), 3),
        (Position(9, 0), 4),
        (Position(9, 1), 5),
    ],
)
async def test_positions_are_found(compacted, position, index):
    assert await compacted.index_of(position) == index


async def test_entries_are_found_by_what_they_say(compacted):
    assert await compacted.first_where(lambda data: data >= b"5") == Position(5, 8)
    assert await compacted.first_where(lambda data: data > b"9:9") is None


async def test_it_tells_what_it_has(compacted):
    assert (compacted.ledger_id, compacted.entry_count, compacted.size_bytes) == (1, 5, 5 * 23)
    last = await compacted.last_where(lambda _: True)
    assert (last.position, last.data) == (Position(9, 0), b"9:0")
    assert (await compacted.last_where(lambda data: data < b"9")).position == Position(5, 8)
    assert await compacted.last_where(lambda _: False) is None


async def test_perhaps_nothing_stayed():
    empty = CompactedLedger(None, Position(9, 4), JsonCodec())
    assert (empty.ledger_id, empty.entry_count, empty.size_bytes) == (-1, 0, 0)
    assert await empty.last_where(lambda _: True) is None
    assert await empty.block(0) == ([], 0)
    assert await empty.first_where(lambda _: True) is None
