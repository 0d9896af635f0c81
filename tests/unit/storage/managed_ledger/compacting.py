"""Compaction of a log by a rule of the test, as a topic does it."""

from unit.storage.managed_ledger.logs import BYTES_MAX

from magnetar.model.position import EARLIEST, Position
from magnetar.storage.codec.compacted_entry import CompactedEntry

EVEN = lambda data: int(data) % 2 == 0  # noqa: E731 it is a rule


async def compact(ledger, stays=EVEN):
    """Keep the entries of which ``stays`` is true."""
    horizon = ledger.last_position
    writer = await ledger.begin_compaction()
    await writer.append(await kept(ledger, horizon, stays))
    await writer.finish(horizon)


async def kept(ledger, horizon, stays=EVEN):
    return [entry for entry in await read_compacted(ledger, horizon) if stays(entry.data)]


async def read_compacted(ledger, upto=None):
    """All that a compacted reader gets."""
    reader, place, found = ledger.compacted_reader(), EARLIEST, []
    while run := await reader.read(place, 1000, BYTES_MAX):
        for index, (data, check) in enumerate(zip(run.data, run.checksums, strict=True)):
            place = Position(run.ledger_id, run.first_entry_id + index)
            if upto is not None and place > upto:
                return found
            found.append(CompactedEntry(place, data, check))
        place = Position(run.ledger_id, run.last_entry_id + 1)
    return found


async def numbers(ledger):
    return [int(entry.data) for entry in await read_compacted(ledger)]
