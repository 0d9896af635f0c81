"""A bank whose broker and workers are killed while they transfer money.

Every transfer is done once, or not at all where it is refused: one message takes the amount from an
account, one gives it to another, mostly on another topic. ``make bank`` kills for BANK_MINUTES.
Against Apache Pulsar only workers are killed.
"""

import asyncio
import os
import random
import subprocess
import sys
from collections import Counter
from contextlib import asynccontextmanager
from itertools import count, islice
from pathlib import Path

import pytest
from support.admin import ask
from support.apache_pulsar import WITH_PULSAR
from support.elsewhere import wait_until
from transactions.bank import LIMIT, TOPICS
from transactions.enabled import SETTINGS

from bench import other_clients
from magnetar import EARLIEST_MESSAGE, Client, InitialPosition
from magnetar.errors import MagnetarError
from magnetar.testing.processes import BrokerProcess

KILLS_S = 60 * float(os.environ.get("BANK_MINUTES", "0"))
KILLS_MIN = 3
SEED = int(os.environ.get("BANK_SEED", "22"))
ACCOUNTS, OPENING_BALANCE = 200, 1000
WORKERS = 20 if KILLS_S else 4
JVMS = 2 if KILLS_S else 1
KILL_EVERY_S = (1.0, 4.0) if KILLS_S else (0.0, 0.2)
DONE_BETWEEN_KILLS = 20  # Transactions that were committed, at least.
AHEAD = 100 * WORKERS  # Transfers that were handed out and not seen.
WITHIN_S = 60
AUDIT_REST_S = 0.05  # Between two topics: whoever reads them all the time does nothing else.

pytestmark = [pytest.mark.crash, pytest.mark.timeout(KILLS_S + 4 * WITHIN_S)]


class Workers:
    """A process that does transfers; ``log`` has what became of them."""

    def __init__(self, command, log):
        self._command, self._log = command, log
        self.start()

    def start(self):
        with self._log.open("ab") as log, self._log.with_suffix(".errors").open("ab") as errors:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=log, stderr=errors
            )

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()

    @property
    def alive(self):
        return self._process.poll() is None

    def said(self):
        """What became of each of their transactions, and the transfers in it."""
        for line in self._log.read_text().splitlines():
            outcome, *names = line.split()
            yield outcome, [int(name) for name in names]


def python_workers(folder, *args):
    command = [sys.executable, Path(__file__).with_name("bank.py"), *args]
    return [Workers(command, folder / f"{number}.log") for number in range(WORKERS)]


def java_workers(folder, *args):
    source = Path(__file__).with_name("Bank.java")
    try:
        command = other_clients.java(source, compiled=folder)
    except other_clients.Missing as error:
        pytest.skip(str(error))
    command += [*args, str(WORKERS // JVMS)]
    return [Workers(command, folder / f"{number}.log") for number in range(JVMS)]


class Bank:
    """What was ordered, what workers say of it, and what its topics show."""

    def __init__(self, client, prefix, chance, workers):
        self.topics = [f"{prefix}-{number}" for number in range(TOPICS)]
        self.workers = workers
        self.expected = {}  # By transfer, its two changes: (transfer, account, change).
        self.reads = 0
        self._client = client
        self._orders = self._transfers(chance)
        self.ordered = 0
        self._seen = set()

    def _transfers(self, chance):
        for name in count():
            giver, taker = chance.sample(range(ACCOUNTS), 2)
            amount = chance.randrange(1, 100)
            if amount <= LIMIT:
                self.expected[name] = (name, giver, -amount), (name, taker, amount)
            self.ordered += 1
            yield f"{name}:{giver}:{taker}:{amount}".encode()

    async def hand_out(self, producer):
        """Let there be something to do."""
        under_way = len(self.expected) - len(self._seen) // 2
        await producer.send_many(list(islice(self._orders, max(AHEAD - under_way, 0))))

    def outcomes(self):
        """How many transactions ended how."""
        return Counter(outcome for worker in self.workers for outcome, _ in worker.said())

    def _told(self):
        said = [each for worker in self.workers for each in worker.said()]
        return {name for outcome, names in said if outcome == "done" for name in names}

    async def read(self):
        """A consistent read: all that was told to be done or is seen in part, each as a whole.

        It is there soon: others that are open, or being committed, hold it up.
        """
        begun = self._told() & set(self.expected)
        changes = await self._look()
        begun |= {name for name, _, _ in changes}
        whole = {change for name in begun for change in self.expected[name]}
        async with within(lambda: whole - changes):
            while not changes >= whole:
                changes = await self._look()
        balances = Counter(dict.fromkeys(range(ACCOUNTS), OPENING_BALANCE))
        for name, account, change in changes:
            if name in begun:
                balances[account] += change
        assert sum(balances.values()) == ACCOUNTS * OPENING_BALANCE
        self.reads += 1
        return changes

    async def _look(self):
        """What the topics show, one after the other: of some transfers a half."""
        found = [change for topic in self.topics for change in await self._all_of(topic)]
        changes = set(found)
        assert len(found) == len(changes), "done twice"
        assert changes >= self._seen, "seen before, and gone"
        self._seen = changes
        for name in {name for name, _, _ in changes}:
            assert name in self.expected, "seen, and refused"
            taken, given = self.expected[name]
            if taken[1] % TOPICS == given[1] % TOPICS:
                assert {taken, given} <= changes, "half of a transaction of one topic is seen"
        assert changes <= {change for both in self.expected.values() for change in both}
        return changes

    async def _all_of(self, topic):
        """All that is visible on a topic. Brokers that are away are waited for."""
        while True:
            await asyncio.sleep(AUDIT_REST_S)
            found = []
            try:
                async with self._client.create_reader(topic, EARLIEST_MESSAGE) as reader:
                    while await reader.has_message_available():
                        found += await reader.receive_many(timeout_s=20)
            except MagnetarError:
                continue
            return [tuple(map(int, message.data.split(b":"))) for message in found]

    async def work(self, producer, closing):
        """Hand out and read, until it closes."""
        while not closing.is_set():
            await self.hand_out(producer)
            await self.read()

    async def all_done(self):
        """Return when a consumer has had both messages of each transfer."""
        wanted = {change for both in self.expected.values() for change in both}
        async with (
            self._client.subscribe(
                self.topics, "counter", initial_position=InitialPosition.EARLIEST
            ) as consumer,
            within(lambda: wanted),
        ):
            while wanted:
                messages = await consumer.receive_many()
                consumer.acknowledge(messages)
                wanted -= {tuple(map(int, message.data.split(b":"))) for message in messages}


@asynccontextmanager
async def within(lacking):
    """What is done in here is done in time, or the changes in ``lacking()`` are lost."""
    try:
        async with asyncio.timeout(WITHIN_S):
            yield
    except TimeoutError:
        raise AssertionError(f"not seen within {WITHIN_S} s: {lacking()}") from None


async def kill_some(bank, broker, chance):
    """Kill somebody every now and then, whenever some more has been done. Returns whom."""
    loop = asyncio.get_running_loop()
    end = loop.time() + KILLS_S
    killed = Counter()
    while loop.time() < end or killed.total() < KILLS_MIN:
        enough = bank.outcomes()["done"] + DONE_BETWEEN_KILLS
        await asyncio.to_thread(
            wait_until,
            lambda: bank.outcomes()["done"] >= enough,  # noqa: B023 - it is awaited here
            "workers write lines",
            timeout_s=WITHIN_S,
            pause_s=0.3,
        )
        await asyncio.sleep(chance.uniform(*KILL_EVERY_S))  # A kill is to come at any moment.
        assert all(worker.alive for worker in bank.workers), "it has ended by itself"
        if broker is not None and (not killed or chance.random() < 0.3):
            broker.kill()
            await asyncio.to_thread(broker.start)
            killed["broker"] += 1
        else:
            worker = chance.choice(bank.workers)
            worker.kill()
            worker.start()
            killed["workers"] += 1
    return killed


@pytest.mark.parametrize("workers_of", [python_workers, java_workers])
async def test_every_transfer_is_done_once_or_refused(request, tmp_path, workers_of):
    if WITH_PULSAR:
        service = request.getfixturevalue("broker")
        await torture(service, None, workers_of, tmp_path)
    else:
        with BrokerProcess(tmp_path / "data", settings=SETTINGS) as broker:
            await torture(broker, broker, workers_of, tmp_path)


async def torture(service, broker, workers_of, folder):
    """``broker``: the one to kill, if it may be."""
    chance = random.Random(SEED)
    name = f"bank-{chance.getrandbits(32):x}-{os.getpid()}-{workers_of.__name__}"
    prefix = f"persistent://public/default/{name}"
    closing = asyncio.Event()
    async with Client(service.service_url, operation_timeout_s=60, backoff_max_s=0.5) as client:
        bank = Bank(client, prefix, chance, workers_of(folder, service.service_url, prefix))
        try:
            for topic in bank.topics:  # What keeps the messages.
                keeper = await client.subscribe(
                    topic, "keeper", initial_position=InitialPosition.EARLIEST
                )
                await keeper.close()
            async with (
                client.create_producer(f"{prefix}-transfers", batching=False) as producer,
                asyncio.TaskGroup() as group,
            ):
                group.create_task(bank.work(producer, closing))
                killed = await kill_some(bank, broker, chance)
                closing.set()
            await bank.all_done()
            await asyncio.to_thread(
                wait_until,
                lambda: backlog(service, name),
                "an acknowledgement has no listener",
                met=lambda left: left == 0,
            )
        finally:
            for worker in bank.workers:
                worker.kill()
        changes = await bank.read()
    assert changes == {change for both in bank.expected.values() for change in both}
    refused = bank.ordered - len(bank.expected)
    print(f"\n{workers_of.__name__}: {len(bank.expected)} done once, {refused} refused;", end=" ")
    print(f"{bank.reads} reads; killed: {dict(killed)}; transactions: {dict(bank.outcomes())}")


def backlog(service, name):
    stats = ask(service, "GET", f"persistent/public/default/{name}-transfers/stats")
    return stats["subscriptions"]["bank"]["msgBacklog"]
