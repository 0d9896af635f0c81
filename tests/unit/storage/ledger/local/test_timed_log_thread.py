import asyncio
from itertools import count

import pytest
from support.faults import FaultyFiles
from unit.storage.ledger.local.support import stamp

from magnetar.storage.ledger.local.log_thread import Commit, StartSegment, Write
from magnetar.storage.ledger.local.settings import Durability, LocalLedgerSettings
from magnetar.storage.ledger.local.timed_log_thread import TimedLogThread


class Ticks:
    """A clock that is a second later each time it is asked."""

    def __init__(self):
        self.now = map(float, count()).__next__


@pytest.mark.parametrize("durability", Durability)
async def test_a_group_tells_when_it_was_written_and_synced(tmp_path, durability):
    answers = asyncio.Queue()
    thread = TimedLogThread(
        FaultyFiles(),
        LocalLedgerSettings(durability=durability, interval_s=1e9, timed=True),
        Ticks(),
        answered=lambda commits, error: answers.put_nowait((commits, error)),
        synced=lambda *_: None,
    )
    before = -1.0
    steps = [StartSegment(tmp_path / "source", tmp_path / "segment", b"header", stamp(1))]
    for step in (*steps, Write(6, [b"0"]), Write(7, [b"1"])):
        thread.submit(Commit(0, [step], ["job"], 10))
        (commit,), error = await asyncio.wait_for(answers.get(), 20)
        began, written, synced, size = commit.times
        assert error is None
        assert before < began < synced
        assert began < written <= synced
        if isinstance(step, Write):
            assert (written < synced) is (durability is Durability.FSYNC)
        assert size == 10
        before = synced
    await thread.stop()
