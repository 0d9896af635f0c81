"""Two processes' logs of one folder, in one loop: each asks the other over its socket."""

import socket
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from magnetar.clock import SystemClock
from magnetar.storage.ledger.local.store import LocalLedgerStore
from magnetar.storage.ledger.many_logs.directory import NAME, LedgerDirectory
from magnetar.storage.ledger.many_logs.remote import RemoteLog
from magnetar.storage.ledger.many_logs.server import LogServer
from magnetar.storage.ledger.many_logs.store import ManyLogs


def listener_at(path):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen()
    listener.setblocking(False)
    return listener


@asynccontextmanager
async def two_logs(folder, **settings):
    """Two stores, each with a log of its own, that find each other's ledgers."""
    if not (folder / NAME).exists():
        folder.mkdir(parents=True, exist_ok=True)
        LedgerDirectory.create(folder / NAME, 1)
    async with AsyncExitStack() as stack:
        sockets = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        paths = [sockets / str(number) for number in range(2)]
        logs = []
        for number in range(2):
            directory = LedgerDirectory(folder / NAME)
            stack.callback(directory.close)
            own = await LocalLedgerStore.start(
                folder / f"ledgers-{number}", take_id=partial(directory.take, number), **settings
            )
            stack.push_async_callback(own.close)
            other = RemoteLog(paths[1 - number], SystemClock())
            stack.push_async_callback(other.close)
            logs.append(ManyLogs(own, directory, held={number: own}, others={1 - number: other}))
            server = LogServer(logs[-1].held)
            listener = stack.enter_context(listener_at(paths[number]))
            await server.start(listener)
            stack.push_async_callback(server.close)
        yield logs
