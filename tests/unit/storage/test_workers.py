"""Stores on disk without a thread: what blocks is done in calls of the event loop."""

import asyncio
import threading

import google_crc32c
import pytest
from support.loop import WatchedLoop
from unit.storage.ledger.local.support import append, everything

from magnetar.storage.ledger.local.settings import Durability, LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore
from magnetar.storage.metadata.sqlite import SqliteMetadataStore
from magnetar.storage.workers import InLoop


class ThreadlessLoop(WatchedLoop):
    """It does at once what other loops hand to threads."""

    def run_in_executor(self, executor, function, *arguments):
        done = self.create_future()
        try:
            done.set_result(function(*arguments))
        except Exception as error:  # noqa: BLE001 - whoever waits gets it.
            done.set_exception(error)
        return done


async def use_the_stores(folder, durability, threads):
    settings = LocalLedgerSettings(durability=durability, interval_s=0.01)
    for start in range(2):
        ledgers = await LocalLedgerStore.start(folder / "log", settings=settings, start=InLoop)
        metadata = await SqliteMetadataStore.open(folder / "metadata.sqlite", start=InLoop)
        heard = asyncio.Queue()
        metadata.watch("/a", heard.put_nowait)
        ledger = await ledgers.create()
        data = [b"%d" % number for number in range(100)]
        await append(ledger, data, list(map(google_crc32c.value, data)))
        assert await metadata.put("/a", b"x") == start
        assert await heard.get() == "/a"
        for ledger_id in range(1, ledger.ledger_id + 1):
            reader = await ledgers.open(ledger_id)
            assert await everything(reader) == data
        assert set(threading.enumerate()) == threads
        await metadata.close()
        await ledgers.close()
    return ledger.ledger_id


@pytest.mark.parametrize("durability", Durability)
def test_stores_are_used_and_opened_again_without_a_thread(tmp_path, durability):
    with asyncio.Runner(loop_factory=ThreadlessLoop) as runner:
        threads = set(threading.enumerate())
        assert runner.run(use_the_stores(tmp_path, durability, threads)) > 0
