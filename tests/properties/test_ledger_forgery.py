"""Nobody who writes entries can make recovery believe a record, whatever power takes away."""

import asyncio
import contextlib
import tempfile
from pathlib import Path
from random import Random

import google_crc32c
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.storage.ledger.local.support import (
    SALT,
    append,
    block,
    everything,
    ledgers_in,
    run,
    salt,
    snapshot,
    stamp,
)

from magnetar.errors import CorruptEntry
from magnetar.storage.ledger.local.format import Kind, Stamp, encode_mark
from magnetar.storage.ledger.local.segment_format import Contents, Group, encode_footer
from magnetar.storage.ledger.local.store import LocalLedgerStore, random_salt

SECTOR = 512
PRECIOUS = [b"precious", b"as well"]


def guesses(generation):
    """Stamps that somebody may try who knows everything but the salt."""
    plain = Stamp(generation, b"MgR1" + generation.to_bytes(4, "little"))
    plain.seed = google_crc32c.value(plain.salt)
    unseeded = Stamp(generation, bytes(8))
    unseeded.seed = 0
    return [plain, unseeded, Stamp(generation, bytes(8)), Stamp(generation, b"\xff" * 8)]


def forgery(chance, stamp, at, victim):
    """A record for offset ``at`` that does harm, and vouches for what lies before it."""
    kind = chance.choice([*Kind])
    if kind is Kind.BLOCK:
        return block(stamp, at, victim, chance.choice([0, len(PRECIOUS)]), "forged")
    return encode_mark(kind, stamp, at, chance.choice([victim, 10**6]), chance.choice([0, 1]))


def hostile(chance, stamps, at, victim):
    """An entry full of forgeries, to be stored at offset ``at``."""
    entry = bytes(2 * SECTOR)
    for _ in range(chance.randint(1, 10)):
        for guess in stamps:
            entry += forgery(chance, guess, at + len(entry), victim)
            entry += bytes(chance.randint(0, 20))
    groups = {10**6: Group(10**6, created=True)}
    return entry + encode_footer(stamps[-1], Contents(groups, [victim], at))


async def found_after_a_crash(folder, chance, salt, *, known):
    """Ledgers and their entries, after power took the head of a hostile record."""
    store = await LocalLedgerStore.start(folder / "a", salt=salt)
    victim, writer = await store.create(), await store.create()
    await append(victim, *run(*PRECIOUS))
    await append(writer, *run(bytes(chance.randint(0, 2000))))
    segment = store.segments[1]
    stamps = [stamp(1)] if known else guesses(1)
    head_at = segment.tail
    await append(writer, *run(hostile(chance, stamps, head_at + 72, victim.ledger_id)))
    copy = snapshot(folder / "a", folder / "b")
    await store.close()
    path = copy / segment.path.name
    data = bytearray(path.read_bytes())
    lost = slice(head_at, -(-(head_at + 64) // SECTOR) * SECTOR)
    data[lost] = bytes(lost.stop - lost.start)
    path.write_bytes(data)
    ledger_ids = list(ledgers_in(copy))
    store = await LocalLedgerStore.start(copy)
    found = {}
    for ledger_id in ledger_ids:
        with contextlib.suppress(CorruptEntry):
            found[ledger_id] = await everything(await store.open(ledger_id))
    await store.close()
    return found


def crash(seed, salt, *, known=False):
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(found_after_a_crash(Path(folder), Random(seed), salt, known=known))


@given(seed=st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_forged_records_are_not_believed(seed):
    found = crash(seed, random_salt)
    assert set(found) == {1, 2}
    assert found[1] == PRECIOUS
    assert len(found[2]) == 1


def test_who_knows_the_salt_is_believed():
    """So it is the salt that keeps forgeries out, and the test above could fail."""
    assert salt() == SALT
    found = [crash(seed, salt, known=True) for seed in range(10)]
    assert not any(set(each) == {1, 2} and each[1] == PRECIOUS for each in found)
