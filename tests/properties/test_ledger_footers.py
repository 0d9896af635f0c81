"""A footer, made of the index, says what reading the segment's records would say."""

import asyncio
import contextlib
import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults import FaultyFiles
from unit.storage.ledger.local.support import append, run, snapshot

from magnetar.errors import LedgerFenced
from magnetar.storage.ledger.local.disk import RealFiles
from magnetar.storage.ledger.local.scan import read_contents, read_footer
from magnetar.storage.ledger.local.segment_format import Group
from magnetar.storage.ledger.local.segments import SegmentState
from magnetar.storage.ledger.local.settings import Durability, LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore

SETTINGS = LocalLedgerSettings(
    segment_size=16 * 1024, compaction_share=0.6, durability=Durability.NONE
)


class Compared:
    """Footers beside what the records say."""

    def __init__(self):
        self.count = 0
        self.deleted = set()

    def look(self, store):
        for segment in store.segments:
            if segment.state is SegmentState.SEALED:
                with contextlib.suppress(FileNotFoundError):  # It is just being given back.
                    self._compare(segment)

    def _compare(self, segment):
        with contextlib.closing(RealFiles().open(segment.path)) as file:
            footer, records = read_footer(file, segment.stamp), read_contents(file, segment)
        mine, theirs = said(footer), said(records)
        for ledger_id in self.deleted & set(mine):
            if mine[ledger_id] == said_of(Group(ledger_id)):
                theirs[ledger_id] = mine[ledger_id]  # All that is left is that it was there.
        assert mine == theirs, segment.path
        self.count += 1


def said(contents):
    """Everything, by what it is about."""
    groups = {ledger_id: said_of(group) for ledger_id, group in contents.groups.items()}
    return {**groups, "deletions": contents.deletions, "end": contents.end}


def said_of(group):
    return {name: getattr(group, name) for name in Group.__slots__}


async def work(store, files, compared, chance):
    writers = []
    for _ in range(chance.randint(1, 150)):
        what = chance.random()
        if not writers or what < 0.1:
            writers.append(await store.create())
            continue
        writer = chance.choice(writers)
        if what < 0.8:
            size = chance.choice([0, 10, 100, 700, 5000])
            entries = [bytes(chance.randint(0, size)) for _ in range(chance.choice([1, 1, 2, 30]))]
            with contextlib.suppress(LedgerFenced):
                await append(writer, *run(*entries))
        elif what < 0.9:
            await writer.close()
        else:
            writers.remove(writer)
            compared.deleted.add(writer.ledger_id)
            await store.delete(writer.ledger_id)
        full = [
            each for each in store.segments if each.state is SegmentState.FULL and each.complete
        ]
        if full and chance.random() < 0.3:  # Its footer is all that is still to be written.
            files.fail_writes(times=chance.randint(1, 3), name=full[0].path.name)
        if chance.random() < 0.1:
            compared.look(store)


@pytest.mark.timeout(300)
def test_a_footer_says_what_the_records_say():
    compared = Compared()

    async def several_lives(folder, chance):
        files = FaultyFiles()
        for life in range(chance.randint(1, 4)):
            place, store_folder = folder / f"{life + 1}", folder / f"{life}"
            store = await LocalLedgerStore.start(store_folder, settings=SETTINGS, files=files)
            await work(store, files, compared, chance)
            compared.look(store)
            killed = chance.random() < 0.5
            if killed:
                snapshot(store_folder, place)
            await store.close()
            files.repair()
            if not killed:
                store_folder.rename(place)

    @given(seed=st.integers(0, 2**32))
    @settings(max_examples=30, deadline=None)
    def check(seed):
        compared.deleted.clear()
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(several_lives(Path(folder), Random(seed)))

    check()
    assert compared.count > 100
