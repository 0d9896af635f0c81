"""A load generator that speaks raw frames, so that the broker is what is measured, not a client.

    python bench/load.py --data-dir /tmp/bench --size 1024 --in-flight 1000 --seconds 6

Starts ``magnetar standalone`` (unless ``--url`` names a broker), publishes prebuilt frames with a
fixed number in flight per connection, reads the receipts, and prints entries/s, MB/s and the
broker's CPU per entry. With ``--consumers`` it also reads the topic, one subscription each. The
generator shares the machine with the broker: compare figures of one run only.
"""

import asyncio
import json
import platform
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import click
import psutil
import uvloop

from magnetar.message.entry import checksum, join
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.testing.processes import BrokerProcess
from magnetar.wire import requests
from magnetar.wire.handshake import ClientHandshake
from magnetar.wire.proto import PulsarApi_pb2 as pb

FRAMES_BYTES_MAX = 4 * 1024 * 1024  # Prebuilt frames per connection, sent again and again.
FIRST_SEQUENCE = 128  # Two bytes as a varint, as all that follow up to 16,383.
SEND_RECEIPT, MESSAGE = 7, 9
CONSUMER_PERMITS = 1_000_000_000


@dataclass
class Tally:
    """What happened while it counted."""

    receipts: int = 0
    deliveries: int = 0
    errors: list[str] = field(default_factory=list)


class Peer(asyncio.Protocol):
    """One raw connection: requests by hand, then frames counted as they come."""

    def __init__(self, tally):
        self.tally = tally
        self.rest = b""
        self.answered = asyncio.Event()
        self.paused = False

    def connection_made(self, transport):
        self.transport = transport
        transport.write(ClientHandshake().hello())

    async def request(self, frame=None):
        """Send a request and wait for whatever comes next."""
        if frame is not None:
            self.answered.clear()
            self.transport.write(frame)
        async with asyncio.timeout(30):
            await self.answered.wait()
        if self.tally.errors:
            raise click.ClickException(f"the broker answered: {self.tally.errors[0]}")

    def data_received(self, data):
        data = self.rest + data if self.rest else data
        position, size = 0, len(data)
        receipts = deliveries = 0
        while size - position >= 10:
            end = position + 4 + int.from_bytes(data[position : position + 4], "big")
            if end > size:
                break
            kind = data[position + 9]
            if kind == SEND_RECEIPT:
                receipts += 1
            elif kind == MESSAGE:
                deliveries += 1
            else:
                self.other(data[position:end])
            position = end
        self.rest = data[position:]
        self.tally.deliveries += deliveries
        if receipts:
            self.tally.receipts += receipts
            self.received(receipts)

    def other(self, frame):
        command = pb.BaseCommand.FromString(frame[8 : 8 + int.from_bytes(frame[4:8], "big")])
        if command.type == pb.BaseCommand.PING:
            self.transport.write(requests.pong())
            return
        if command.type in (pb.BaseCommand.ERROR, pb.BaseCommand.SEND_ERROR):
            self.tally.errors.append(str(command))
        self.answered.set()

    def received(self, receipts):
        """Somebody who sends has room for as many again."""


class Publisher(Peer):
    """Keeps ``in_flight`` sends on the way."""

    def __init__(self, tally, frames, frame_size, in_flight):
        super().__init__(tally)
        self.frames = memoryview(frames)
        self.frame_size = frame_size
        self.in_flight = in_flight
        self.next = 0
        self.room = 0
        self.running = False

    def start(self):
        self.running = True
        self.received(self.in_flight)

    def pause_writing(self):
        self.paused = True

    def resume_writing(self):
        self.paused = False
        self.received(0)

    def received(self, receipts):
        self.room += receipts
        while self.running and self.room and not self.paused:
            start = self.next
            stop = min(start + self.room * self.frame_size, len(self.frames))
            self.transport.write(self.frames[start:stop])
            self.room -= (stop - start) // self.frame_size
            self.next = stop % len(self.frames)


def prebuilt(size, in_flight, batch):
    """Frames of one producer, all of one size, and that size."""
    metadata = pb.MessageMetadata(
        producer_name="load", sequence_id=0, publish_time=1_700_000_000_000
    )
    if batch > 1:
        metadata.num_messages_in_batch = batch
    head = metadata.SerializeToString()
    payload = bytes(range(256)) * (size * batch // 256 + 1)
    if batch > 1:
        single = pb.SingleMessageMetadata(payload_size=size).SerializeToString()
        one = len(single).to_bytes(4, "big") + single + payload[:size]
        entry = join(head, one * batch)
    else:
        entry = join(head, payload[: max(size - len(head) - 4, 1)])
    crc = checksum(entry)
    count = max(1, min(2000, in_flight * 2, FRAMES_BYTES_MAX // (len(entry) + 50)))
    frames = [
        b"".join(requests.send(1, FIRST_SEQUENCE + n, entry, crc, num_messages=batch))
        for n in range(count)
    ]
    assert len({len(frame) for frame in frames}) == 1, "frames of one size"
    return b"".join(frames), len(frames[0])


async def connect(url, peer):
    host, port = url.removeprefix("pulsar://").rsplit(":", 1)
    await asyncio.get_running_loop().create_connection(lambda: peer, host, int(port))
    await peer.request()
    return peer


async def load(url, pid, options):
    tally = Tally()
    frames, frame_size = prebuilt(options["size"], options["in_flight"], options["batch"])
    publishers = []
    stamp = time.time_ns()
    for n in range(options["connections"]):
        topic = f"persistent://public/default/load-{stamp}-{n % options['topics']}"
        peer = await connect(url, Publisher(tally, frames, frame_size, options["in_flight"]))
        peer.topic = topic
        await peer.request(requests.lookup(1, topic))
        await peer.request(requests.producer(1, 2, topic))
        publishers.append(peer)
    for n in range(options["consumers"]):
        consumer = await connect(url, Peer(tally))
        await consumer.request(
            requests.subscribe(
                1,
                1,
                publishers[0].topic,
                f"load-{n}",
                SubscriptionType.EXCLUSIVE,
                initial_position=InitialPosition.LATEST,
            )
        )
        consumer.transport.write(requests.flow(1, CONSUMER_PERMITS))
    for peer in publishers:
        peer.start()
    await asyncio.sleep(options["warm_up"])
    process = psutil.Process(pid) if pid else None
    before, cpu_before, started = (
        Tally(tally.receipts, tally.deliveries),
        cpu(process),
        time.perf_counter(),
    )
    await asyncio.sleep(options["seconds"])
    elapsed = time.perf_counter() - started
    receipts, deliveries = tally.receipts - before.receipts, tally.deliveries - before.deliveries
    used = cpu(process) - cpu_before
    for peer in publishers:
        peer.running = False
    if tally.errors:
        raise click.ClickException(f"the broker answered: {tally.errors[0]}")
    return {
        "entries_per_s": round(receipts / elapsed),
        "mb_per_s": round(receipts * frame_size / elapsed / 1e6, 1),
        "messages_per_s": round(receipts * options["batch"] / elapsed),
        "deliveries_per_s": round(deliveries / elapsed),
        "broker_cpu_us_per_entry": round(used / max(receipts, 1) * 1e6, 2) if process else None,
        "broker_rss_mb": round(process.memory_info().rss / 1e6) if process else None,
    }


def cpu(process):
    if process is None:
        return 0.0
    times = process.cpu_times()
    return times.user + times.system


def interpreter():
    """Which Python, and how it was built."""
    loop_us = min(_loop() for _ in range(5)) * 1e6
    flags = sysconfig.get_config_var("CONFIG_ARGS") or ""
    optimised = "--enable-optimizations" in flags or "-fprofile-use" in (
        sysconfig.get_config_var("PY_CORE_CFLAGS") or ""
    )
    return (
        f"Python {platform.python_version()}, optimised build: {optimised}, loop {loop_us:.0f} us"
    )


def _loop():
    started = time.perf_counter()
    total = 0
    for number in range(20_000):
        total += number & 7
    return time.perf_counter() - started


@click.command()
@click.option("--url", help="A running broker; without it one is started.")
@click.option("--data-dir", type=Path, help="Where the started broker keeps its data.")
@click.option("--durability", default="fsync", type=click.Choice(["fsync", "interval", "none"]))
@click.option("--size", default=1024, help="Bytes per entry, or per message of a batch.")
@click.option("--batch", default=1, help="Messages per entry.")
@click.option("--in-flight", default=1000, help="Sends on the way, per connection.")
@click.option("--connections", default=1)
@click.option("--topics", default=1)
@click.option("--consumers", default=0)
@click.option("--seconds", default=6.0)
@click.option("--warm-up", default=2.0)
def main(url, data_dir, durability, **options):
    """Publish as fast as receipts come back, and say how fast that was."""
    if url:
        report(uvloop.run(load(url, None, options)), options, durability="the broker's own")
        return
    with (
        tempfile.TemporaryDirectory(dir=data_dir) as folder,
        BrokerProcess(Path(folder) / "data", settings={"durability": durability}) as broker,
    ):
        result = uvloop.run(load(broker.service_url, broker.pid, options))
        report(result, options, durability=durability)


def report(result, options, *, durability):
    settings = {**options, "durability": durability, "interpreter": interpreter()}
    print(json.dumps({"result": result, "settings": settings}, indent=2))


if __name__ == "__main__":
    sys.exit(main())
