"""A bank whose broker and workers are killed while they transfer money.

Every transfer is done once: one message takes the amount from an account, one gives it to another,
mostly on another topic. ``make bank`` runs it for minutes, with BANK_WORKERS of our client, and of
the Java client where it was fetched; BANK_S says for how many seconds there are kills. Against
Apache Pulsar only workers are killed.
"""

import asyncio
import os
import random
import subprocess
import sys
from collections import Counter
from itertools import count, islice
from pathlib import Path

import pytest
from support.apache_pulsar import WITH_PULSAR
from transactions.bank import TOPICS
from transactions.enabled import SETTINGS

from bench import other_clients
from magnetar import EARLIEST_MESSAGE, Client, InitialPosition
from magnetar.errors import MagnetarError
from magnetar.testing.processes import BrokerProcess

KILLS_S = float(os.environ.get("BANK_S", "8"))
WORKERS = int(os.environ.get("BANK_WORKERS", "4"))
LANGUAGES = ["python", "java"] if "BANK_S" in os.environ else ["python"]
ACCOUNTS = 200
THREADS = 5  # Of Java: so many workers are in one process.
PAUSE_S = {"python": 0.3, "java": 2.0}  # Between two kills: who was started has to get to work.
TRANSFERS_AT_ONCE = 40
DONE_WITHIN_S = 60 + KILLS_S
AUDIT_REST_S = 0.1  # Between two topics: whoever reads them all the time does nothing else.

pytestmark = [pytest.mark.crash, pytest.mark.timeout(KILLS_S + DONE_WITHIN_S + 60)]


class Worker:
    """A process that does transfers; ``log`` has what it could not do."""

    def __init__(self, command, log):
        self._command, self._log = command, log
        self.start()

    def start(self):
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)

    def kill(self):
        self._process.kill()
        self._process.wait()


def commands(language, service_url, prefix):
    """The command of each process of workers. Raises Missing."""
    if language == "python":
        command = [sys.executable, Path(__file__).with_name("bank.py"), service_url, prefix]
        return [command] * WORKERS
    program = other_clients.java(Path(__file__).with_name("Bank.java"))
    return [[*program, service_url, prefix, str(THREADS)]] * (WORKERS // THREADS)


def transfers_of(chance):
    for name in count():
        giver, taker = chance.sample(range(ACCOUNTS), 2)
        yield f"{name}:{giver}:{taker}:{chance.randrange(1, 100)}"


async def read(client, topic):
    """All that is visible on a topic now, as (transfer, account, change)."""
    found = []
    async with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
        while await reader.has_message_available():
            found += await reader.receive_many(timeout_s=20)
    return [tuple(map(int, message.data.split(b":"))) for message in found]


def check(changes, transfers):
    """Nothing that is visible was done twice, or by halves where one topic has both."""
    again = [change for change, times in Counter(changes).items() if times > 1]
    assert not again, "done twice"
    seen = set(changes)
    for name, giver, taker, amount in transfers:
        taken, given = (name, giver, -amount) in seen, (name, taker, amount) in seen
        if giver % TOPICS == taker % TOPICS:
            assert taken == given, f"transfer {name} is visible by half"


async def kill_some(workers, broker, chance, hand_out, pause_s):
    """Kill somebody every now and then, soon after there is something to do; how often each was."""
    loop = asyncio.get_running_loop()
    end = loop.time() + KILLS_S
    killed = Counter()
    while loop.time() < end:
        await asyncio.sleep(pause_s)
        await hand_out()
        await asyncio.sleep(0.1 * chance.random())  # A kill is to come at any moment.
        if broker is not None and chance.random() < 0.3:
            killed["broker"] += 1
            broker.kill()
            await asyncio.to_thread(broker.start)
        else:
            killed["workers"] += 1
            worker = chance.choice(workers)
            worker.kill()
            worker.start()
    return killed


async def done(client, topics, wanted):
    """Return when so many messages are visible."""
    async with client.subscribe(
        topics, "counter", initial_position=InitialPosition.EARLIEST
    ) as found:
        while wanted > 0:
            messages = await found.receive_many()
            found.acknowledge(messages)
            wanted -= len(messages)


async def audit(client, topics, transfers):
    """Read everything again and again, until cancelled. Brokers that are away are waited for."""
    while True:
        for topic in topics:
            try:
                check(await read(client, topic), transfers)
            except MagnetarError:
                continue
            finally:
                await asyncio.sleep(AUDIT_REST_S)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_every_transfer_is_done_once(request, tmp_path, language):
    chance = random.Random(22)
    try:
        if WITH_PULSAR:
            service, broker = request.getfixturevalue("broker"), None
            await bank(language, service.service_url, broker, chance, tmp_path)
        else:
            with BrokerProcess(tmp_path / "data", settings=SETTINGS) as broker:
                await bank(language, broker.service_url, broker, chance, tmp_path)
    except other_clients.Missing as error:
        pytest.skip(str(error))


async def bank(language, service_url, broker, chance, tmp_path):
    prefix = f"persistent://public/default/bank-{chance.getrandbits(32):x}-{os.getpid()}"
    orders, transfers = transfers_of(chance), []
    async with Client(service_url, operation_timeout_s=60, backoff_max_s=0.5) as client:
        topics = [f"{prefix}-{number}" for number in range(TOPICS)]
        for topic in topics:  # What keeps the messages.
            keeper = await client.subscribe(
                topic, "keeper", initial_position=InitialPosition.EARLIEST
            )
            await keeper.close()
        producer = await client.create_producer(f"{prefix}-transfers", batching=False)

        async def hand_out():
            texts = list(islice(orders, TRANSFERS_AT_ONCE))
            transfers.extend(tuple(map(int, text.split(":"))) for text in texts)
            await producer.send_many([text.encode() for text in texts])

        workers = [
            Worker(command, tmp_path / f"{number}.log")
            for number, command in enumerate(commands(language, service_url, prefix))
        ]
        auditing = asyncio.ensure_future(audit(client, topics, transfers))
        try:
            killed = await kill_some(workers, broker, chance, hand_out, PAUSE_S[language])
            await asyncio.wait_for(done(client, topics, 2 * len(transfers)), DONE_WITHIN_S)
            assert not auditing.done(), auditing.exception()
        finally:
            for worker in workers:
                worker.kill()
            auditing.cancel()
        everything = [change for topic in topics for change in await read(client, topic)]
    check(everything, transfers)
    assert len(everything) == 2 * len(transfers)
    assert sum(change for _, _, change in everything) == 0
    balances = Counter()
    for _, account, change in everything:
        balances[account] += change
    expected = Counter()
    for _, giver, taker, amount in transfers:
        expected[giver] -= amount
        expected[taker] += amount
    assert balances == expected
    print(f"\n{language}: {len(transfers)} transfers, each once; killed {dict(killed)}")
