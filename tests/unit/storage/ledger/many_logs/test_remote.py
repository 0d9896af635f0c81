"""A process that ends while it is asked is asked again when it is there again."""

import asyncio

import pytest
from support.many_logs import listener_at

from magnetar.clock import SystemClock
from magnetar.errors import LedgerNotFound, StorageError
from magnetar.storage.ledger.many_logs import remote
from magnetar.storage.ledger.many_logs.remote import RemoteLog
from magnetar.storage.ledger.many_logs.server import LogServer
from magnetar.storage.ledger.memory import MemoryLedgerStore


@pytest.fixture
async def asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # The path of a socket is short.
    log = RemoteLog(tmp_path / "0", SystemClock())
    log._path = type(tmp_path)("0")
    yield log
    await log.close()


async def test_a_process_that_ends_is_asked_again(asked):
    store = MemoryLedgerStore()
    ledger_id = (await store.create()).ledger_id
    with listener_at("0") as listener:
        ends = await asyncio.start_unix_server(_hang_up, sock=listener.dup())
        opening = asyncio.ensure_future(asked.open(ledger_id))
        await HUNG_UP.wait()
        ends.close()
        server = LogServer(lambda _: store)
        await server.start(listener.dup())
        assert (await opening).end.last_entry_id == -1
        with pytest.raises(LedgerNotFound):
            await asked.open(99)
        await server.close()


HUNG_UP = asyncio.Event()


async def _hang_up(reader, writer):
    await reader.read(1)
    writer.close()
    HUNG_UP.set()


async def test_one_that_does_not_answer_is_named(asked, monkeypatch):
    monkeypatch.setattr(remote, "ANSWER_TIMEOUT_S", 0.05)
    with pytest.raises(StorageError, match="the log of process 0, which has not answered"):
        await asked.open(1)


async def test_what_is_in_no_log_of_its_is_refused(asked):
    with listener_at("0") as listener:
        server = LogServer(lambda _: None)
        await server.start(listener.dup())
        with pytest.raises(StorageError, match="not in a log of this process"):
            await asked.delete(7)
        await server.close()
