"""A footer made of the index says what reading the segment's records would say."""

import asyncio
import contextlib
import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.storage.ledger.local.support import append, run

from magnetar.errors import LedgerFenced
from magnetar.storage.ledger.local.log_thread import Durability
from magnetar.storage.ledger.local.scan import read_contents
from magnetar.storage.ledger.local.segment_format import Group
from magnetar.storage.ledger.local.store import LocalLedgerSettings, LocalLedgerStore
from magnetar.storage.ledger.local.upkeep import Upkeep

SETTINGS = LocalLedgerSettings(
    segment_size=16 * 1024, compaction_share=0.6, durability=Durability.NONE
)


class Compared:
    """Footers as they are written, beside what the records say."""

    def __init__(self, patch):
        self.from_index = self.read = 0
        self.wrong = []
        write = Upkeep._write_footer

        def compare(upkeep, segment, contents):
            if contents is None:
                self.read += 1
            else:
                self.from_index += 1
                file = upkeep._files.open(segment.path)
                records = read_contents(file, segment)
                file.close()
                gone = set(contents.groups) - set(upkeep._ledgers)
                mine, theirs = said(contents, gone), said(records, gone)
                self.wrong += [
                    (segment.generation, what, mine.get(what), theirs.get(what))
                    for what in {*mine, *theirs}
                    if mine.get(what) != theirs.get(what)
                ]
            write(upkeep, segment, contents)

        patch.setattr(Upkeep, "_write_footer", compare)


def said(contents, gone):
    """Everything, by what it is about; of ledgers that are gone, that they were there."""
    groups = {
        ledger_id: ledger_id in gone or {name: getattr(group, name) for name in Group.__slots__}
        for ledger_id, group in contents.groups.items()
    }
    return {**groups, "deletions": contents.deletions, "end": contents.end}


async def work(store, chance, steps):
    writers = []
    for _ in range(steps):
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
            await store.delete(writer.ledger_id)


@pytest.mark.timeout(300)
def test_a_footer_says_what_the_records_say(monkeypatch):
    compared = Compared(monkeypatch)

    async def several_lives(folder, chance):
        for _ in range(chance.randint(1, 3)):
            store = await LocalLedgerStore.start(folder, settings=SETTINGS)
            await work(store, chance, chance.randint(1, 150))
            await store.close()

    @given(seed=st.integers(0, 2**32))
    @settings(max_examples=30, deadline=None)
    def check(seed):
        compared.wrong.clear()
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(several_lives(Path(folder), Random(seed)))
        assert not compared.wrong, "\n".join(map(str, compared.wrong))

    check()
    assert compared.from_index > 100
