"""What tests of the local ledger store share."""

import shutil

import google_crc32c
from support.elsewhere import until_elsewhere

from magnetar.inner import encode_block
from magnetar.storage.ledger.appending import append_durably as append
from magnetar.storage.ledger.local.disk import RealFiles
from magnetar.storage.ledger.local.format import Stamp
from magnetar.storage.ledger.local.recovery import recover
from magnetar.storage.ledger.local.settings import LocalLedgerSettings

SALT = b"a salt.."


class EverythingLost:
    """Of what was not synced, nothing survives."""

    def random(self):
        return 0.9

    def randint(self, low, high):
        return low


def salt():
    """A salt that everybody can guess."""
    return SALT


def stamp(generation):
    """What tells a segment's bytes from others, in tests that write them by hand."""
    return Stamp(generation, SALT)


def run(*entries):
    """Arguments of an append."""
    data = [entry if isinstance(entry, bytes) else str(entry).encode() for entry in entries]
    return data, [google_crc32c.value(entry) for entry in data]


def block(stamp, synced, ledger_id, first, *entries):
    """A record of these entries."""
    arguments = (stamp.salt, stamp.seed, synced, ledger_id, first)
    return b"".join(encode_block(*arguments, *run(*entries)))


async def fill(ledger, runs, size=1000):
    """Append so many runs of one entry."""
    for number in range(runs):
        await append(ledger, *run(bytes([number % 256]) * size))


async def until_upkeep(reached):
    """Wait for what the threads of a store do beside the log."""
    await until_elsewhere(reached, "upkeep and compaction tell nobody what they have done")


def ledgers_in(folder):
    """The ledgers that a store would find in a folder."""
    return recover(RealFiles(), folder, LocalLedgerSettings()).ledgers


def erase_records(store):
    """Leave of a closed store's segments only what lies around their records."""
    for segment in store.segments:
        with segment.path.open("r+b") as file:
            file.seek(segment.start)
            file.write(bytes(segment.used))


async def everything(reader):
    """All entries of a ledger."""
    found = []
    while len(found) <= reader.end.last_entry_id:
        entries = await reader.read(len(found), 10**9, 1024 * 1024)
        assert entries.checksums == [google_crc32c.value(entry) for entry in entries.data]
        assert entries.data, "a read brings at least one entry"
        found += entries.data
    return found


def snapshot(folder, copy):
    """What is on disk now, as if the process died here. Call it without awaiting anything.

    Threads of the store may still be renaming files: then the copy is made anew.
    """
    while True:
        names = sorted(path.name for path in folder.iterdir())
        copy.mkdir()
        try:
            for name in names:
                shutil.copyfile(folder / name, copy / name)
            if names == sorted(path.name for path in folder.iterdir()):
                return copy
        except FileNotFoundError:
            pass
        shutil.rmtree(copy)
