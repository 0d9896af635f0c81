"""What very many topics, subscriptions, connections or messages cost one broker.

    python -m bench.many subscriptions [COUNT...]     of one topic
    python -m bench.many connections [COUNT...]       that come at once
    python -m bench.many unacknowledged [COUNT]       of one Key_Shared subscription
    python -m bench.many backlog [COUNT [BATCH]]      messages of 100 B, read from the start
    python -m bench.many topics [COUNT [BUSY]]        of which some have a producer and a consumer

Look at the CPU time of one of them, which is to stay the same with more: on a busy machine the
seconds say what else was going on.
"""

import asyncio
import random
import select
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from magnetar import Client, Message, OutgoingMessage, SubscriptionType
from magnetar.message.entry import checksum
from magnetar.model.subscriptions import InitialPosition
from magnetar.testing.processes import BrokerProcess
from magnetar.wire import requests
from magnetar.wire.handshake import ClientHandshake

from .cases import Case
from .frames import entry_of, ring
from .growth import PARTITIONS, Look, ask, look
from .memory import files_allowed
from .peer import PERMITS, Peer, Publisher

TOPIC = "persistent://public/default/many"
SENDS = 10
CONSUMERS = 4
LIST = 1000
IN_FLIGHT = 1000
"""Entries that are sent and not answered."""
STEPS = 5
KEYS = 1_000_000
QUEUE = 1000
TIMEOUT_S = 60
SEED = 1
NO_LIMITS: dict[str, Any] = {
    "maxUnackedMessagesPerConsumer": 0,
    "maxUnackedMessagesPerSubscription": 0,
    "maxUnackedMessagesPerBroker": 0,
    "managedLedgerMaxUnackedRangesToPersist": 1_000_000,
}


def each(what: str, before: Look, after: Look, count: int) -> None:
    """Print what one of ``count`` took."""
    print(
        f"  {what}: {(after.cpu_s - before.cpu_s) / count * 1e6:.1f} us of CPU each, "
        f"{(after.written - before.written) / count:.0f} B written, "
        f"{(after.memory - before.memory) / count:.0f} B of memory, "
        f"{after.at_s - before.at_s:.2f} s in all",
        flush=True,
    )


class Together(Peer):
    """Sends many requests, and then waits for the answers."""

    def ask(self, frames: Sequence[bytes]) -> None:
        sending = threading.Thread(target=self.socket.sendall, args=(b"".join(frames),))
        sending.start()
        answered = 0
        while answered < len(frames):
            while not self.counter.others:
                self._receive()
            answered += len(self.counter.others)
            self.counter.others.clear()
        sending.join()

    def await_messages(self, count: int) -> None:
        while self.counter.messages < count:
            self._receive()
            if self.counter.others:
                self._other()


def opened(broker: BrokerProcess) -> Together:
    """A connection with a producer of the topic."""
    peer = Together(("127.0.0.1", broker.port))
    peer.request(requests.lookup(1, TOPIC))
    peer.request(requests.producer(0, 2, TOPIC))
    return peer


def subscriptions(count: int) -> None:
    print(f"{count} subscriptions of one topic")
    with tempfile.TemporaryDirectory() as folder, BrokerProcess(Path(folder) / "data") as broker:
        url = f"{broker.web_url}/admin/v2/persistent/public/default/many/stats"
        peer = opened(broker)
        ask(url)  # What is imported at the first request is.
        ask(f"{broker.web_url}/metrics/")
        frames = [
            requests.subscribe(
                number,
                number + 3,
                TOPIC,
                f"subscription-{number}",
                SubscriptionType.SHARED,
                initial_position=InitialPosition.LATEST,
            )
            for number in range(count)
        ]
        began = look(broker.pid)
        peer.ask(frames)
        made = look(broker.pid)
        each("made", began, made, count)
        asyncio.run(send_some(broker))
        sent = look(broker.pid)
        each(f"{SENDS} messages, which none has permits for", made, sent, count * SENDS)
        peer.socket.sendall(b"".join(requests.flow(number, QUEUE) for number in range(count)))
        peer.await_messages(SENDS * count)
        delivered = look(broker.pid)
        each(f"{SENDS} messages delivered to each", sent, delivered, count * SENDS)
        size = ask(url)
        shown = look(broker.pid)
        each(f"stats of {size / 1e6:.1f} MB", delivered, shown, count)
        size = ask(f"{broker.web_url}/metrics/")
        each(f"scrape of {size / 1e6:.1f} MB", shown, look(broker.pid), count)
        peer.close()
        broker.kill()
        began_s = time.perf_counter()
        broker.start()
        started = look(broker.pid)
        print(f"  killed, and ready again after {time.perf_counter() - began_s:.2f} s")
        opened(broker).close()
        each("topic opened again", started, look(broker.pid), count)


async def send_some(broker: BrokerProcess) -> None:
    async with Client(broker.service_url) as client:
        producer = await client.create_producer(TOPIC)
        for _ in range(SENDS):
            await producer.send(bytes(100))


def connections(count: int) -> None:
    print(f"{count} connections that come at once")
    files_allowed()
    with tempfile.TemporaryDirectory() as folder, BrokerProcess(Path(folder) / "data") as broker:
        hello = ClientHandshake().hello()
        began = look(broker.pid)
        sockets = [socket.socket() for _ in range(count)]
        waiting = select.epoll()
        by_number = {one.fileno(): one for one in sockets}
        for one in sockets:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", broker.port))
            waiting.register(one, select.EPOLLOUT)
        answered = 0
        while answered < count:
            for number, event in waiting.poll(TIMEOUT_S):
                if event & select.EPOLLOUT:
                    by_number[number].send(hello)
                    waiting.modify(number, select.EPOLLIN)
                else:
                    assert by_number[number].recv(4096), "the broker hung up"
                    waiting.unregister(number)
                    answered += 1
        each("connected and answered", began, look(broker.pid), count)
        for one in sockets:
            one.close()


async def unacknowledged(count: int) -> None:
    print(f"{count} messages of {KEYS} keys, unacknowledged at {CONSUMERS} Key_Shared consumers")
    chance = random.Random(SEED)
    with (
        tempfile.TemporaryDirectory() as folder,
        BrokerProcess(Path(folder) / "data", settings=NO_LIMITS) as broker,
    ):
        async with Client(broker.service_url) as client:
            consumers = [
                await client.subscribe(TOPIC, "s", type=SubscriptionType.KEY_SHARED)
                for _ in range(CONSUMERS)
            ]
            held: list[list[Message[bytes]]] = [[] for _ in consumers]

            async def take(number: int, until: int) -> None:
                while sum(map(len, held)) < until:
                    held[number] += await consumers[number].receive_many(LIST, timeout_s=0.2)

            async def take_all(until: int) -> None:
                await asyncio.gather(*(take(number, until) for number in range(len(held))))

            producer = await client.create_producer(TOPIC, batching=False)
            share = count // STEPS
            for step in range(1, STEPS + 1):
                began = look(broker.pid)
                for _ in range(share // LIST):
                    keys = [str(chance.randrange(KEYS)) for _ in range(LIST)]
                    await producer.send_many([OutgoingMessage(bytes(100), key=k) for k in keys])
                await take_all(step * (share // LIST) * LIST)
                each(f"published and delivered, part {step}", began, look(broker.pid), share)
            began, left = look(broker.pid), held.pop()
            await consumers.pop().close()
            await take_all(sum(map(len, held)) + len(left))
            each("one consumer left, and its came again", began, look(broker.pid), len(left))
            began = look(broker.pid)
            mine = [(number, one) for number, its in enumerate(held) for one in its]
            chance.shuffle(mine)
            for start in range(0, len(mine), LIST):
                part = mine[start : start + LIST]
                for number, consumer in enumerate(consumers):
                    consumer.acknowledge([m for owner, m in part if owner == number])
                await asyncio.sleep(0)
            await asyncio.gather(*(consumer.close() for consumer in consumers))
            each("acknowledged in any order", began, look(broker.pid), len(mine))


def backlog(count: int, batch: int) -> None:
    """Publish it in parts, kill the broker, and read it all."""
    print(f"a backlog of {count} messages of 100 B, in batches of {batch}")
    sent = ring(Case("backlog", 100, batch=batch, vary=30))
    entries = count // batch
    with (
        tempfile.TemporaryDirectory() as folder,
        BrokerProcess(Path(folder) / "data", settings=NO_LIMITS) as broker,
    ):
        subscribed(broker).close()
        publisher = Publisher(("127.0.0.1", broker.port), [TOPIC], sent)
        publisher.go()
        for part in range(1, STEPS + 1):
            began = look(broker.pid)
            publish(publisher, entries * part // STEPS)
            each(f"published, part {part}", began, look(broker.pid), count // STEPS)
        publisher.close()
        broker.kill()
        began_s = time.perf_counter()
        broker.start()
        print(f"  killed, and ready again after {time.perf_counter() - began_s:.2f} s")
        peer = subscribed(broker)
        peer.socket.sendall(requests.flow(0, PERMITS))
        for part in range(1, STEPS + 1):
            began = look(broker.pid)
            peer.await_messages(entries * part // STEPS)
            each(f"read, part {part}", began, look(broker.pid), count // STEPS)
        peer.close()


def subscribed(broker: BrokerProcess) -> Together:
    """A connection with a consumer from the start of the topic."""
    peer = Together(("127.0.0.1", broker.port))
    peer.request(requests.lookup(1, TOPIC))
    peer.request(
        requests.subscribe(
            0,
            2,
            TOPIC,
            "s",
            SubscriptionType.EXCLUSIVE,
            initial_position=InitialPosition.EARLIEST,
        )
    )
    return peer


def publish(publisher: Publisher, until: int) -> None:
    """Send until so many are answered, ``IN_FLIGHT`` at a time."""
    sent = publisher.counter.receipts
    while publisher.counter.receipts < until:
        more = min(until, publisher.counter.receipts + IN_FLIGHT) - sent
        writable = [] if publisher.send(more) else [publisher.fileno]
        sent += more
        if select.select([publisher.fileno], writable, [], TIMEOUT_S)[0]:
            publisher.read()


def topics(count: int, busy: int) -> None:
    """Make partitions, and publish to some of them, and read from these."""
    print(f"{count} topics, of which {busy} are busy")
    each_has = min(PARTITIONS, count)
    of_names = count // each_has
    with tempfile.TemporaryDirectory() as folder, BrokerProcess(Path(folder) / "data") as broker:
        url = f"{broker.web_url}/admin/v2/persistent/public/default"
        ask(f"{url}/first/partitions", b"1")  # What is imported at the first request is.
        began = look(broker.pid)
        for number in range(of_names):
            ask(f"{url}/many-{number}/partitions", str(each_has).encode())
        each("made", began, look(broker.pid), count)
        names = [
            f"persistent://public/default/many-{place % of_names}-partition-{place // of_names}"
            for place in range(busy)
        ]
        use(broker, names, "used for the first time")
        use(broker, names, "used again")
        for what, place in (
            ("scrape", f"{broker.web_url}/metrics/"),
            ("scrape again", f"{broker.web_url}/metrics/"),
            ("names of all", url),
            ("names of the partitioned ones", f"{url}/partitioned"),
        ):
            began = look(broker.pid)
            size = ask(place)
            each(f"{what}, {size / 1e6:.2f} MB", began, look(broker.pid), count)
        broker.kill()
        began_s = time.perf_counter()
        broker.start()
        started = look(broker.pid)
        print(
            f"  killed, and ready again after {time.perf_counter() - began_s:.2f} s, "
            f"{started.cpu_s:.2f} s of CPU, {started.memory / 1e6:.0f} MB"
        )
        use(broker, names, "used after the start")


def use(broker: BrokerProcess, names: Sequence[str], when: str) -> None:
    """Publish ``SENDS`` messages to each of the topics and consume them, on one connection."""
    peer = Together(("127.0.0.1", broker.port))
    began = look(broker.pid)
    peer.ask([requests.lookup(number, name) for number, name in enumerate(names)])
    peer.ask(
        [
            requests.subscribe(number, number, name, "s", SubscriptionType.SHARED)
            for number, name in enumerate(names)
        ]
    )
    peer.ask([requests.producer(number, number, name) for number, name in enumerate(names)])
    each(f"{when}: opened", began, look(broker.pid), len(names))
    peer.socket.sendall(b"".join(requests.flow(number, QUEUE) for number in range(len(names))))
    entry = entry_of(Case("busy", 100), random.Random(SEED))
    began = look(broker.pid)
    for sequence in range(SENDS):
        for number in range(len(names)):
            frame = requests.send(number, sequence, entry, checksum(entry), num_messages=1)
            peer.socket.sendall(b"".join(frame))
        peer.await_messages(len(names) * (sequence + 1))
    each(f"{when}: a message", began, look(broker.pid), len(names) * SENDS)
    peer.close()


def main() -> None:
    case, *counts = sys.argv[1:] or ["subscriptions"]
    if case == "subscriptions":
        for count in map(int, counts or ["500", "2000", "8000"]):
            subscriptions(count)
    elif case == "connections":
        for count in map(int, counts or ["1000", "10000"]):
            connections(count)
    elif case == "unacknowledged":
        asyncio.run(unacknowledged(int(counts[0]) if counts else 200_000))
    elif case == "backlog":
        count, batch = (*map(int, counts), *(10_000_000, 1)[len(counts) :])
        backlog(count, batch)
    elif case == "topics":
        count, busy = (*map(int, counts), *(20_000, 1_000)[len(counts) :])
        topics(count, busy)
    else:
        sys.exit(f"no such case: {case}; see python -m pydoc bench.many")


if __name__ == "__main__":
    main()
