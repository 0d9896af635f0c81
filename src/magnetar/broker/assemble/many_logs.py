"""The ledgers of a data folder that several processes serve, or served before.

The first process has its log where one that is alone has it, the others beside it. Where there are
fewer processes than logs, each has several, and creates ledgers in one. A log that is nobody's own
and holds nothing any more is removed.
"""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Protocol

from magnetar.broker.siblings import Sibling
from magnetar.errors import StorageError
from magnetar.storage.ledger.local.store import LocalLedgerStore
from magnetar.storage.ledger.many_logs.directory import NAME, LedgerDirectory
from magnetar.storage.ledger.many_logs.remote import RemoteLog
from magnetar.storage.ledger.many_logs.server import LogServer
from magnetar.storage.ledger.many_logs.store import ManyLogs

from .build_context import BuildContext

_FURTHER: Final = re.compile(r"ledgers-(\d+)")


class StartLog(Protocol):
    """Opens the log in a folder."""

    async def __call__(
        self, folder: Path, *, take_id: Callable[[], Awaitable[int]] | None = None
    ) -> LocalLedgerStore: ...


def log_folder(folder: Path, number: int) -> Path:
    """Where a data folder has a log."""
    return folder / (f"ledgers-{number}" if number else "ledgers")


def log_numbers(folder: Path) -> list[int]:
    """The logs that a data folder has; the first is there or will be."""
    found = [_FURTHER.fullmatch(each.name) for each in folder.glob("ledgers-*")]
    return [0, *sorted(int(each[1]) for each in found if each)]


def has_many_logs(folder: Path) -> bool:
    """Whether several processes served a data folder. Raises StorageError."""
    there = (folder / NAME).exists()
    if not there and len(log_numbers(folder)) > 1:
        raise StorageError(
            f"{folder / NAME} is missing, which says which log of {folder} each ledger is in: "
            "restore it from a backup"
        )
    return there


async def open_many_logs(
    context: BuildContext, start_log: StartLog, sibling: Sibling | None
) -> ManyLogs:
    """The ledgers of this process, and ways to those of others. Without siblings it has all."""
    folder = context.config.storage.data_directory
    number, count = (0, 1) if sibling is None else (sibling.number, sibling.count)
    directory: LedgerDirectory | None = None

    async def take_id() -> int:
        assert directory is not None
        return await directory.take(number)

    own = await start_log(log_folder(folder, number), take_id=take_id)
    context.stack.push_async_callback(own.close)
    if not has_many_logs(folder):
        if number:
            raise StorageError(f"{folder / NAME} is missing: the first process makes it")
        LedgerDirectory.create(folder / NAME, own.next_ledger_id)
    directory = LedgerDirectory(folder / NAME)
    context.stack.callback(directory.close)
    held = {number: own}
    for each in log_numbers(folder):
        if each != number and each % count == number:
            further = await start_log(log_folder(folder, each))
            if further.is_empty:
                await further.close()
                from shutil import rmtree  # noqa: PLC0415 - once in the life of a folder

                rmtree(log_folder(folder, each))
                continue
            context.stack.push_async_callback(further.close)
            held[each] = further
    others = {}
    if sibling is not None:
        remotes = [RemoteLog(path, context.clock) for path in sibling.logs]
        for remote in remotes:
            context.stack.push_async_callback(remote.close)
        numbers = {*range(count), *log_numbers(folder)} - held.keys()
        others = {each: remotes[each % count] for each in numbers}
    logs = ManyLogs(own, directory, held=held, others=others)
    if sibling is not None:
        server = LogServer(logs.held)
        await server.start(sibling.log_listener)
        context.stack.push_async_callback(server.close)
    return logs
