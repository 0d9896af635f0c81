import asyncio
import os
import signal

import pytest
from support.loop import until

from magnetar.broker.offload import history_process
from magnetar.broker.offload.history_process import HistoryProcess
from magnetar.clock import SystemClock
from magnetar.errors import LedgerNotFound, StorageError

pytestmark = pytest.mark.slow


@pytest.fixture
async def process():
    made = HistoryProcess(clock=SystemClock())
    yield made
    await made.close()


def asked(tmp_path, do="delete", **more):
    return {"do": do, "url": tmp_path.as_uri(), "options": {}, "name": "7.parquet", **more}


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_it_starts_when_it_is_asked_and_one_answers_all(process, tmp_path):
    assert process.pid is None
    await asyncio.gather(*(process.ask(asked(tmp_path)) for _ in range(3)))
    pid = process.pid
    assert await process.ask(asked(tmp_path)) == ({}, b"")
    assert process.pid == pid
    await process.close()
    assert gone(pid)


async def test_errors_are_those_that_were_raised_there(process, tmp_path):
    read = asked(tmp_path, "read", first=0, count=1, bytes=1)
    with pytest.raises(LedgerNotFound, match=r"7\.parquet"):
        await process.ask(read)
    with pytest.raises(StorageError, match="no place for files"):
        await process.ask({**read, "url": "http://x"})


async def test_one_that_died_is_started_again(process, tmp_path):
    await process.ask(asked(tmp_path))
    pid = process.pid
    os.kill(pid, signal.SIGKILL)
    await until(lambda: gone(pid))
    assert await process.ask(asked(tmp_path)) == ({}, b"")
    assert process.pid != pid


async def test_one_that_dies_while_it_is_asked_is_an_error(process, tmp_path):
    await process.ask(asked(tmp_path))

    async def killing():
        os.kill(process.pid, signal.SIGKILL)
        yield b""

    offload = asked(tmp_path, "offload", topic="t", partition=-1, ledgerId=7)
    with pytest.raises(StorageError, match="ended before it answered"):
        await process.ask(offload, killing())
    assert await process.ask(asked(tmp_path)) == ({}, b"")


async def test_who_is_cancelled_takes_it_along(process, tmp_path):
    await process.ask(asked(tmp_path))
    pid = process.pid

    async def never():
        yield b""
        await asyncio.Event().wait()

    offload = asked(tmp_path, "offload", topic="t", partition=-1, ledgerId=7)
    waiting = asyncio.ensure_future(process.ask(offload, never()))
    await until(process._turn.locked)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert gone(pid)
    assert await process.ask(asked(tmp_path)) == ({}, b"")


async def test_it_ends_when_it_was_not_asked_for_a_while(tmp_path):
    process = HistoryProcess(clock=SystemClock(), idle_s=0.05)
    await process.ask(asked(tmp_path))
    await until(lambda: process.pid is None)
    await process.close()


async def test_what_is_missing_is_named(process, tmp_path, monkeypatch):
    monkeypatch.setattr(history_process, "_NEEDED", ("pyarrow", "no_such_thing"))
    with pytest.raises(
        StorageError, match=r"needs no_such_thing: pip install 'magnetar\[history\]"
    ):
        await process.ask(asked(tmp_path))
