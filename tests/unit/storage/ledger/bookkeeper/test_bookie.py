"""One bookie that does not behave: a server on a socket."""

import asyncio
import struct
import time
from unittest.mock import patch

import pytest
from support.clock import ManualClock
from support.loop import until

from magnetar.errors import ConnectionLost, TimedOut
from magnetar.loop_iteration import LoopIteration
from magnetar.storage.ledger.bookkeeper import bookie as bookie_module
from magnetar.storage.ledger.bookkeeper import wire
from magnetar.storage.ledger.bookkeeper.addresses import Address
from magnetar.storage.ledger.bookkeeper.bookie import Bookie, BookieError
from magnetar.storage.ledger.bookkeeper.connector import Connector
from magnetar.storage.ledger.bookkeeper.entry_format import Adds
from magnetar.storage.ledger.bookkeeper.wire import Code


class Failures:
    """The writer of a ledger."""

    def __init__(self):
        self.told = asyncio.Queue()

    def added(self, bookie_id, first, last):
        raise AssertionError("nobody answers")

    def add_failed(self, bookie_id, error):
        self.told.put_nowait((bookie_id, error))


NO_ENTRY_3_OF_1 = struct.pack(">IIiqq", 24, 2 << 24 | 2 << 16, Code.NO_ENTRY, 1, 3)


@pytest.fixture
async def serve():
    """Gives a bookie whose connections are handled by a function."""
    begun, accepted = [], []

    async def begin(handle, now=time.monotonic):
        def accept(reader, writer):
            accepted.append(writer)
            handle(reader, writer)

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]

        async def resolve(_):
            return Address("127.0.0.1", port)

        iteration = LoopIteration(asyncio.get_running_loop())
        bookie = Bookie("b", resolve=resolve, connector=Connector(), iteration=iteration, now=now)
        begun.append((bookie, server))
        return bookie

    yield begin
    for bookie, server in begun:
        await bookie.close()
        server.close()
    for writer in accepted:
        writer.transport.abort()
    await asyncio.sleep(0)  # They are closed in the next iteration.


def deaf(reader, _):
    reader._transport.pause_reading()


def silent(_reader, _writer):
    pass


def gone(_, writer):
    writer.close()


async def test_a_bookie_that_does_not_read_is_given_up(serve):
    bookie = await serve(deaf)
    bookie.adders[1] = failures = Failures()
    with patch.object(bookie_module, "BEHIND_BYTES_MAX", 100_000):
        bookie.add([Adds(1, [bytes(20_000_000)])])
        async with asyncio.timeout(10):
            name, error = await failures.told.get()
    assert (name, type(error)) == ("b", TimedOut)


async def test_it_is_connected_before_it_is_asked(serve):
    accepted = asyncio.Queue()
    bookie = await serve(lambda _, writer: accepted.put_nowait(writer))
    bookie.connect_soon()
    bookie.connect_soon()
    await asyncio.wait_for(accepted.get(), 10)
    await until(lambda: bookie.connected)
    bookie.connect_soon()
    with pytest.raises(TimedOut):
        await bookie.read(1, 2, 0.1)
    assert accepted.empty()


async def test_a_bookie_that_says_nothing_is_not_waited_for_forever(serve):
    bookie = await serve(silent)
    with pytest.raises(TimedOut, match="bookie b did not answer a read of entry 3 of 1"):
        await bookie.read(1, 3, 0.05)
    assert (bookie.counts.read_timeouts, bookie.counts.reads.failed) == (1, 1)


async def test_an_answer_that_never_came_is_not_waited_for_by_the_next_request(serve):
    connections = []

    def silent_at_first(_, writer):
        connections.append(writer)
        if len(connections) > 1:
            writer.write(NO_ENTRY_3_OF_1)

    bookie = await serve(silent_at_first)
    with pytest.raises(TimedOut):
        await bookie.read(1, 3, 0.05)
    with pytest.raises(BookieError, match="NO_ENTRY"):
        await bookie.read(1, 3, 10)


async def test_what_is_answered_counts_with_the_time_since_it_was_sent(serve):
    clock = ManualClock()
    bookie = await serve(silent, now=clock.now)
    with pytest.raises(TimedOut):
        await bookie.read_batch(1, 0, 1, 1, 0.1)  # It is connected then.
    for _ in range(2):
        bookie.add([Adds(3, [b"x"]), Adds(2, [b"y"])])
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        clock.move(0.01)
    assert (bookie.connected, bookie.adds_pending) == (True, 10)
    took = bookie.counts.add_latency
    bookie.take(wire.Answers(added=[(1, 0, 3)]))
    assert (took.count, bookie.adds_pending) == (0, 6)
    bookie.take(wire.Answers(added=[(1, 4, 5)], failed=[(1, 6, 102)]))
    assert (took.count, bookie.counts.added, bookie.counts.adds_failed) == (1, 6, 1)
    assert took.total_s == pytest.approx(0.02)
    bookie.take(wire.Answers(added=[(1, 7, 9)]))
    assert (took.count, bookie.adds_pending) == (2, 0)
    assert took.total_s == pytest.approx(0.03)


async def test_what_is_under_way_fails_with_the_connection_and_the_next_request_connects(serve):
    bookie = await serve(gone)
    bookie.adders[1] = failures = Failures()
    for _ in range(2):
        bookie.add([Adds(1, [b"x", b"y"])])
        with pytest.raises(ConnectionLost):
            await bookie.read_batch(1, 0, 1, 1, 10)
        async with asyncio.timeout(10):
            assert isinstance((await failures.told.get())[1], ConnectionLost)
    counts = bookie.counts
    assert (counts.connections, counts.adds_failed, counts.reads.failed) == (2, 2, 2)
