"""What the machine itself does, in the same run: loopback, file append, fdatasync."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

CHUNK = 256 * 1024
APPENDED_MAX = 1024**3
STREAM_S, ECHO_S, APPEND_S, SYNC_S, BIG_SYNC_S = 0.7, 0.4, 0.7, 1.5, 0.8

_sync = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync.

# A process of its own at the other end: it echoes what comes in small pieces, and drops the rest.
_PARTNER = f"""
import socket, sys
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    peer, _ = server.accept()
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
buffer = memoryview(bytearray({CHUNK}))
while size := peer.recv_into(buffer):
    if size <= 64:
        peer.sendall(buffer[:size])
"""


@dataclass(frozen=True, slots=True)
class Sync:
    """How long it takes to write 4 KiB to a file and sync it."""

    p50_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class Limits:
    """No broker on this machine does better than these."""

    loopback_mb_per_s: float
    echo_p50_us: float
    append_mb_per_s: float
    sync: Sync
    big_sync_mb_per_s: float  # 1 MiB written and synced, again and again

    def lines(self) -> list[str]:
        return [
            f"loopback {self.loopback_mb_per_s:,.0f} MB/s, echo p50 {self.echo_p50_us:.0f} us",
            f"file append {self.append_mb_per_s:,.0f} MB/s",
            (
                f"4 KiB + fdatasync p50 {self.sync.p50_ms:.2f} ms, p99 {self.sync.p99_ms:.2f} ms; "
                f"1 MiB + fdatasync {self.big_sync_mb_per_s:,.0f} MB/s"
            ),
        ]


def measure(folder: Path) -> Limits:
    """About four seconds; files are made in ``folder`` and removed."""
    with _partner() as peer:
        loopback = _stream(peer)
    with _partner() as peer:
        echo = _echo(peer)
    append = _append(folder)
    small = synced_writes(folder, SYNC_S)
    big = _synced_writes(folder, 1024 * 1024, BIG_SYNC_S)
    return Limits(
        loopback_mb_per_s=loopback,
        echo_p50_us=echo,
        append_mb_per_s=append,
        sync=small,
        big_sync_mb_per_s=len(big) * 1.048576 / sum(big),
    )


def synced_writes(folder: Path, seconds: float) -> Sync:
    """As Limits has it, at this moment: disks that are shared change from minute to minute."""
    cuts = quantiles(_synced_writes(folder, 4096, seconds), n=100)
    return Sync(p50_ms=cuts[49] * 1e3, p99_ms=cuts[98] * 1e3)


def longest_sync_s(folder: Path, seconds: float) -> float:
    """The longest of such writes in that time."""
    return max(_synced_writes(folder, 4096, seconds))


@contextlib.contextmanager
def _partner() -> Iterator[socket.socket]:
    process = subprocess.Popen([sys.executable, "-c", _PARTNER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        with socket.create_connection(("127.0.0.1", int(process.stdout.readline()))) as peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield peer
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _stream(peer: socket.socket) -> float:
    chunk = bytes(CHUNK)
    for _ in range(64):
        peer.sendall(chunk)
    count, started = 0, time.perf_counter()
    while time.perf_counter() - started < STREAM_S:
        peer.sendall(chunk)
        count += 1
    return count * CHUNK / (time.perf_counter() - started) / 1e6


def _echo(peer: socket.socket) -> float:
    times = []
    end = time.perf_counter() + ECHO_S
    while time.perf_counter() < end:
        at = time.perf_counter()
        peer.sendall(b"ping")
        peer.recv(64)
        times.append(time.perf_counter() - at)
    return quantiles(times, n=2)[0] * 1e6


@contextlib.contextmanager
def _file(folder: Path) -> Iterator[int]:
    path = folder / "limits.tmp"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
        path.unlink()


def _append(folder: Path) -> float:
    chunk = bytes(range(256)) * (CHUNK // 256)
    with _file(folder) as descriptor:
        count, started = 0, time.perf_counter()
        while time.perf_counter() - started < APPEND_S and count * CHUNK < APPENDED_MAX:
            os.write(descriptor, chunk)
            count += 1
        return count * CHUNK / (time.perf_counter() - started) / 1e6


def _synced_writes(folder: Path, size: int, seconds: float) -> list[float]:
    chunk = bytes(range(256)) * (size // 256)
    times: list[float] = []
    with _file(folder) as descriptor:
        _sync(descriptor)
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(times) < 4:
            at = time.perf_counter()
            os.write(descriptor, chunk)
            _sync(descriptor)
            times.append(time.perf_counter() - at)
    return times
