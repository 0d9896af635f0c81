"""What an idle connection and an idle topic cost a broker in memory.

    python -m bench.memory [--connections N] [--topics N]

One broker process is asked before and after: for connections that said CONNECT and then nothing
but PONG, and for topics that somebody used and left. Every figure is the growth of the process's
own memory (USS), or of its resident memory where the system tells no more, by the piece. A file
descriptor each is needed, here and in the broker: N beyond the hard limit is refused.

The bounds are 2 KB a connection and 300 B a topic. Beside the connections is what the event loop
alone takes for one, with a protocol that does nothing: what is left of the bound is ours.
"""

import argparse
import asyncio
import multiprocessing
import resource
import socket
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

import psutil

from magnetar.testing.ports import free_port
from magnetar.testing.processes import BrokerProcess
from magnetar.wire import requests

from .peer import Peer

CONNECTIONS = 10_000
TOPICS = 5_000
CONNECTION_BYTES_MAX = 2048
TOPIC_BYTES_MAX = 300
SPARE_FILES = 200  # What a process has open beside connections.
KEEP_ALIVE_S = 15
SETTLED_BYTES = 64 * 1024  # Two looks that differ by less: nothing is going on any more.


def main() -> int:
    options = _options()
    if not _allow_files(options.connections + SPARE_FILES):
        print(f"not enough open files allowed for {options.connections} connections: ulimit -Hn")
        return 2
    within = True
    for measured, count, bound in (
        (connections, options.connections, CONNECTION_BYTES_MAX),
        (topics, options.topics, TOPIC_BYTES_MAX),
    ):
        # A broker each: what the first has given back would do for the second.
        with tempfile.TemporaryDirectory() as folder:
            settings = {"keepAliveIntervalSeconds": KEEP_ALIVE_S}
            with BrokerProcess(Path(folder) / "data", settings=settings) as broker:
                new = settled(broker.pid)
                print(f"idle broker                        {new / 1e6:8.1f} MB")
                if count:
                    within = measured(broker, count, new) <= bound and within
    print(
        f"{'within' if within else 'BEYOND'} {CONNECTION_BYTES_MAX} B a connection and "
        f"{TOPIC_BYTES_MAX} B a topic"
    )
    return 0 if within else 1


def connections(broker: BrokerProcess, count: int, before: int) -> float:
    """Bytes of one that has answered a PING."""
    bare = bare_loop(count)
    print(f"{count} connections, event loop alone {bare:8.0f} B each")
    files = files_open(broker.pid)
    address = ("127.0.0.1", broker.port)
    for again in ("", " again"):
        began = time.perf_counter()
        peers = [Idle(address) for _ in range(count)]
        connected = (settled(broker.pid) - before) / count
        took = time.perf_counter() - began
        print(f"CONNECT{again:6}                      {connected:8.0f} B each, {took:.1f} s in all")
        began = time.perf_counter()
        for peer in peers:
            peer.answer_ping()
        pinged = (settled(broker.pid) - before) / count
        took = time.perf_counter() - began
        print(f"pinged{again:6}, all answered         {pinged:8.0f} B each, within {took:.1f} s")
        for peer in peers:
            peer.close()
        while files_open(broker.pid) > files:
            time.sleep(0.1)
        left = settled(broker.pid) - before
        print(f"closed{again:6}                       {left / 1e6:8.1f} MB kept, files closed")
    return pinged


def topics(broker: BrokerProcess, count: int, before: int) -> float:
    """Bytes of a topic that was used and that nobody uses any more."""
    peer = Peer(("127.0.0.1", broker.port))
    names = [f"persistent://public/default/idle-{number:06}" for number in range(count)]
    for number, name in enumerate(names, 1):
        peer.request(requests.lookup(2 * number, name))
        peer.request(requests.producer(number, 2 * number + 1, name))
    used_now = (settled(broker.pid) - before) / count
    print(f"{count} topics, a producer each        {used_now:8.0f} B each")
    for number in range(1, count + 1):
        peer.request(requests.close_producer(number, 3 * count + number))
    idle = (settled(broker.pid) - before) / count
    print(f"nobody uses them                   {idle:8.0f} B each")
    peer.close()
    broker.terminate()
    broker.start()
    stored = (settled(broker.pid) - before) / count
    print(f"after a restart, none opened yet   {stored:8.0f} B each")
    return idle


class Idle(Peer):
    """Says CONNECT, and then nothing but PONG."""

    def answer_ping(self) -> None:
        """Wait for the broker's PING."""
        self.socket.settimeout(3 * KEEP_ALIVE_S)
        while not self.counter.others:
            self._receive()
        self._other()


def bare_loop(count: int) -> float:
    """Bytes of a connection for a protocol of the broker's kind that does nothing."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    port = free_port()
    process = context.Process(target=_serve_nothing, args=(port, theirs), daemon=True)
    process.start()
    assert process.pid is not None, "started"
    try:
        assert ours.recv() == "ready", "it says so when it listens"
        before = settled(process.pid)
        sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
        each = (settled(process.pid) - before) / count
        for one in sockets:
            one.close()
    finally:
        process.kill()
        process.join()
    return each


def _serve_nothing(port: int, ready: Connection) -> None:
    """In a process of its own: the loop the broker uses, and nothing else."""
    import uvloop  # noqa: PLC0415 - only this process needs it

    _allow_files(sys.maxsize)

    class Nothing(asyncio.BufferedProtocol):
        __slots__ = ()
        buffer = memoryview(bytearray(4096))

        def get_buffer(self, _: int) -> memoryview:
            return self.buffer

        def buffer_updated(self, nbytes: int) -> None:
            """Nothing becomes of it."""

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        await loop.create_server(Nothing, "127.0.0.1", port, backlog=1024)
        ready.send("ready")
        await asyncio.Event().wait()

    uvloop.run(serve())


def used(pid: int) -> int:
    """Bytes that are the process's own."""
    process = psutil.Process(pid)
    try:
        return int(process.memory_full_info().uss)
    except (psutil.AccessDenied, AttributeError):
        return int(process.memory_info().rss)


def settled(pid: int) -> int:
    """The same, once it has stopped moving."""
    last = used(pid)
    for _ in range(50):
        time.sleep(0.2)
        now = used(pid)
        if abs(now - last) < SETTLED_BYTES:
            return now
        last = now
    return last


def files_open(pid: int) -> int:
    return int(psutil.Process(pid).num_fds())


def _allow_files(count: int) -> bool:
    """Whether this process may have so many open, which it now may if it is possible at all."""
    hard = files_allowed()
    return hard == resource.RLIM_INFINITY or count <= hard


def files_allowed() -> int:
    """How many files a process may have open, which this one now may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--topics", type=int, default=TOPICS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
