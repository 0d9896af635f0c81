"""However entries were appended, any read brings what a list would."""

import asyncio
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from unit.storage.ledger.local.support import append, run

from magnetar.storage.ledger.local.settings import Durability, LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore

SETTINGS = LocalLedgerSettings(segment_size=32 * 1024, durability=Durability.NONE)

sizes = st.one_of(st.integers(0, 50), st.sampled_from([700, 5000, 40_000]))
appends = st.lists(
    st.tuples(st.integers(0, 2), st.lists(sizes, min_size=1, max_size=12)),
    min_size=1,
    max_size=25,
)
reads = st.lists(
    st.tuples(st.floats(0, 1), st.integers(1, 60), st.integers(1, 60_000)), min_size=1, max_size=8
)


def entry(ledger, number, size):
    return f"{ledger}:{number}:".encode().ljust(size, b".")[:size]


async def check(folder, appends, reads):
    store = await LocalLedgerStore.start(folder, settings=SETTINGS)
    ledgers = [await store.create() for _ in range(3)]
    expected = [[], [], []]
    for which, run_sizes in appends:
        known = expected[which]
        data = [entry(which, len(known) + n, size) for n, size in enumerate(run_sizes)]
        assert await append(ledgers[which], *run(*data)) == len(known)
        known += data
    for known, ledger in zip(expected, ledgers, strict=True):
        assert ledger.end == (len(known) - 1, sum(map(len, known)))
        for where, count_max, bytes_max in reads:
            if not known:
                continue
            first = min(int(where * len(known)), len(known) - 1)
            found = await ledger.read(first, count_max, bytes_max)
            assert (found.data, found.checksums) == run(*known[first : first + len(found.data)])
            size_but_last = sum(map(len, found.data[:-1]))
            assert 1 <= len(found.data) <= count_max
            assert size_but_last < bytes_max or len(found.data) == 1
            whole = len(found.data) == min(count_max, len(known) - first)
            assert whole or size_but_last + len(found.data[-1]) >= bytes_max
    await store.close()


@given(appends=appends, reads=reads)
@settings(max_examples=60, deadline=None)
def test_reads_bring_what_was_appended(appends, reads):
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check(Path(folder), appends, reads))
