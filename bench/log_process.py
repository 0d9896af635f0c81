"""What it costs to have the log in a process of its own, asked over a Unix socket.

    python -m bench.log_process [--seconds 2] [--rounds 3] [--size 1024] [--run 20]

A hundred ledgers, each with one run of entries under way: appended in the process that has them, as
each broker does, and handed over to another process, which appends and answers. The hand-over is as
cheap as it is easily made: no command is parsed, runs are written with one call, and all answers of
an iteration go together. CPU is that of all threads, microseconds for an entry; both sync.
"""

import asyncio
import os
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

import click
import psutil

from magnetar.inner import checksum
from magnetar.storage.ledger.local.store import LocalLedgerStore

from . import machine
from .table import table

LEDGERS: Final = 100
_HEAD: Final = struct.Struct("<II")  # The ledger, and the bytes that follow.


class Inside:
    """Appends to a store of this process."""

    def __init__(self, answered: Callable[[int], None]) -> None:
        self._answered = answered

    async def open(self, folder: Path) -> None:
        self._store = await LocalLedgerStore.start(folder)
        self._ledgers = [await self._store.create() for _ in range(LEDGERS)]

    def append(self, ledger: int, data: list[bytes], checksums: list[int]) -> None:
        def answered(_: int, error: Exception | None) -> None:
            assert error is None, error
            self._answered(ledger)

        self._ledgers[ledger].append(data, checksums, answered)

    async def close(self) -> None:
        await self._store.close()

    def cpu_s(self) -> float:
        """What another process has used."""
        return 0.0


class Frames(asyncio.Protocol):
    """Length-prefixed frames, each way."""

    def __init__(self, took: Callable[[int, bytes], None]) -> None:
        self._took = took
        self._rest = bytearray()
        self._out: list[bytes] = []
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_write_buffer_limits(1 << 30)

    def send(self, ledger: int, pieces: list[bytes]) -> None:
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out += [_HEAD.pack(ledger, sum(map(len, pieces))), *pieces]

    def _flush(self) -> None:
        out, self._out = self._out, []
        self.transport.writelines(out)

    def data_received(self, data: bytes) -> None:
        self._rest += data
        at, size = 0, len(self._rest)
        view = memoryview(self._rest)
        while size - at >= _HEAD.size:
            ledger, length = _HEAD.unpack_from(view, at)
            if size - at - _HEAD.size < length:
                break
            at += _HEAD.size
            self._took(ledger, bytes(view[at : at + length]))
            at += length
        view.release()
        del self._rest[:at]


async def be_the_other(link: socket.socket, folder: Path) -> None:
    """The other process: append what comes, until the socket ends."""
    ended = asyncio.Event()

    def took(ledger: int, body: bytes) -> None:
        (count,) = struct.unpack_from("<I", body)
        numbers = struct.unpack_from(f"<{2 * count}I", body, 4)
        at, data = 4 + 8 * count, []
        for length in numbers[:count]:
            data.append(body[at : at + length])
            at += length
        log.append(ledger, data, list(numbers[count:]))

    class Ending(Frames):
        def connection_lost(self, exc: Exception | None) -> None:
            ended.set()

    log = Inside(lambda ledger: frames.send(ledger, []))
    await log.open(folder)
    _, frames = await asyncio.get_running_loop().create_connection(lambda: Ending(took), sock=link)
    await ended.wait()
    await log.close()


class Outside:
    """Hands appends to another process."""

    def __init__(self, answered: Callable[[int], None]) -> None:
        self._answered = answered

    async def open(self, folder: Path) -> None:
        ours, its = socket.socketpair()
        command = [sys.executable, "-m", "bench.log_process", "--serve", str(its.fileno())]
        self._process = await asyncio.create_subprocess_exec(
            *command, str(folder), pass_fds=[its.fileno()]
        )
        its.close()
        self._other = psutil.Process(self._process.pid)
        loop = asyncio.get_running_loop()
        _, self._frames = await loop.create_connection(
            lambda: Frames(lambda ledger, _: self._answered(ledger)), sock=ours
        )

    def append(self, ledger: int, data: list[bytes], checksums: list[int]) -> None:
        count = len(data)
        tables = struct.pack(f"<I{count}I{count}I", count, *map(len, data), *checksums)
        self._frames.send(ledger, [tables, *data])

    async def close(self) -> None:
        self._frames.transport.close()
        await self._process.wait()

    def cpu_s(self) -> float:
        """What the other process has used."""
        times = self._other.cpu_times()
        return float(times.user + times.system)


async def measured(
    kind: type[Inside | Outside], size: int, run: int, seconds: float
) -> list[float]:
    """Entries a second, and CPU for one: of this process, and of the other."""
    data = [os.urandom(size) for _ in range(run)]
    checksums = [checksum(each) for each in data]
    loop = asyncio.get_running_loop()
    count, ending, under_way, ended = 0, 0.0, LEDGERS, asyncio.Event()

    async def asked(ledger: int) -> None:
        """Append once, and wait for the answer."""
        nonlocal count, under_way
        under_way = 1
        log.append(ledger, data, checksums)
        await ended.wait()
        ended.clear()
        count, under_way = 0, LEDGERS

    def answered(ledger: int) -> None:
        nonlocal count, under_way
        count += run
        if loop.time() < ending:
            log.append(ledger, data, checksums)
            return
        under_way -= 1
        if not under_way:
            ended.set()

    log = kind(answered)
    with tempfile.TemporaryDirectory() as folder:
        await log.open(Path(folder) / "log")
        await asked(0)  # It has begun, and has what it needs.
        began, own, other = loop.time(), time.process_time(), log.cpu_s()
        ending = began + seconds
        for ledger in range(LEDGERS):
            log.append(ledger, data, checksums)
        await ended.wait()
        took, own, other = loop.time() - began, time.process_time() - own, log.cpu_s() - other
        await log.close()
    return [count / took, own / count * 1e6, other / count * 1e6]


@click.command()
@click.option("--serve", hidden=True, type=(int, click.Path(path_type=Path)))
@click.option("--seconds", default=2.0, show_default=True)
@click.option("--rounds", default=3, show_default=True)
@click.option("--size", default=1024, show_default=True, help="Of an entry, in bytes.")
@click.option("--run", default=20, show_default=True, help="Entries of an append.")
def main(
    *, serve: tuple[int, Path] | None, seconds: float, rounds: int, size: int, run: int
) -> None:
    """Measure both in turn, print medians."""
    if serve is not None:
        link, folder = serve
        asyncio.run(be_the_other(socket.socket(fileno=link), folder))
        return
    kinds = {"in the broker": Inside, "in a process of its own": Outside}
    found: dict[str, list[list[float]]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, kind in kinds.items():
            found[name].append(asyncio.run(measured(kind, size, run, seconds)))
    rows = []
    for name, results in found.items():
        rate, own, other = (median(each) for each in zip(*results, strict=True))
        rows.append([name, f"{rate:,.0f}", f"{own:.2f}", f"{other:.2f}", f"{own + other:.2f}"])
    click.echo("\n".join(machine.describe(Path(tempfile.gettempdir()))))
    click.echo(table(["log", "entries/s", "CPU us: here", "there", "both"], rows))


if __name__ == "__main__":
    main()
