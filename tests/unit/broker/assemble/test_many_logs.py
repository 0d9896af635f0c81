import asyncio
from contextlib import AsyncExitStack
from functools import partial

import pytest
from unit.storage.ledger.local.support import append, everything, run

from magnetar.broker.assemble.build_context import BuildContext
from magnetar.broker.assemble.many_logs import (
    has_many_logs,
    log_folder,
    log_numbers,
    open_many_logs,
)
from magnetar.broker.config import Config
from magnetar.clock import SystemClock
from magnetar.errors import StorageError
from magnetar.loop_iteration import LoopIteration
from magnetar.storage.ledger.local.settings import Durability, LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore
from magnetar.storage.ledger.many_logs.directory import NAME, LedgerDirectory
from magnetar.tasks import Tasks

START = partial(LocalLedgerStore.start, settings=LocalLedgerSettings(durability=Durability.NONE))


async def opened(folder, stack):
    """All logs of a folder, by a process that is alone."""
    loop = asyncio.get_running_loop()
    config = Config.read(flags={"dataDirectory": folder})
    context = BuildContext(config, SystemClock(), LoopIteration(loop), Tasks("test"), stack)
    return await open_many_logs(context, START, None)


async def written(folder, number):
    """A ledger in one log of a folder, whose processes have ended."""
    directory = LedgerDirectory(folder / NAME)
    store = await START(log_folder(folder, number), take_id=partial(directory.take, number))
    ledger = await store.create()
    await append(ledger, *run(number))
    await store.close()
    directory.close()
    return ledger.ledger_id


async def test_one_process_has_the_logs_of_all_that_were(tmp_path):
    LedgerDirectory.create(tmp_path / NAME, 1)
    ids = [await written(tmp_path, number) for number in (0, 1, 2)]
    async with AsyncExitStack() as stack:
        logs = await opened(tmp_path, stack)
        for number, ledger_id in enumerate(ids):
            reader = await logs.open(ledger_id)
            assert await everything(reader) == [str(number).encode()]
        assert (await logs.create()).ledger_id == ids[-1] + 1


async def test_a_log_that_holds_nothing_is_removed(tmp_path):
    LedgerDirectory.create(tmp_path / NAME, 1)
    ledger_id = await written(tmp_path, 1)
    async with AsyncExitStack() as stack:
        logs = await opened(tmp_path, stack)
        await logs.delete(ledger_id)
    async with AsyncExitStack() as stack:
        await opened(tmp_path, stack)
    assert log_numbers(tmp_path) == [0]


async def test_the_directory_begins_behind_what_one_process_created(tmp_path):
    store = await START(log_folder(tmp_path, 0))
    ids = [(await store.create()).ledger_id for _ in range(3)]
    await store.close()
    async with AsyncExitStack() as stack:
        logs = await opened(tmp_path, stack)
        assert (await logs.create()).ledger_id == ids[-1] + 1
        await logs.open(ids[0])


def test_logs_without_the_directory_are_refused(tmp_path):
    assert not has_many_logs(tmp_path)
    log_folder(tmp_path, 3).mkdir()
    with pytest.raises(StorageError, match=f"{NAME} is missing"):
        has_many_logs(tmp_path)
