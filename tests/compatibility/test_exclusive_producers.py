"""One writer at a time: the official client's access modes, in processes that are lost."""

import asyncio
import contextlib
import os
import signal
import sys
from itertools import groupby, pairwise
from pathlib import Path

import pulsar
import pytest
from compatibility.conftest import open_client, receive_all
from support.elsewhere import until_elsewhere
from support.network import Proxy

from magnetar import Client, ProducerAccessMode
from magnetar.errors import ProducerFenced
from magnetar.model.names import TopicName
from magnetar.testing.local_broker import LocalBroker
from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility

TOPIC = "persistent://public/default/led"
PARSED = TopicName.parse(TOPIC)
CANDIDATE = Path(__file__).with_name("candidate.py")
Mode = pulsar.ProducerAccessMode


class Candidate:
    """A process that waits to be the leader of the topic, and writes while it is."""

    def __init__(self, name, process):
        self.name = name
        self.line = None  # The event that lets it through to the broker.
        self._process = process

    async def says(self, word):
        async with asyncio.timeout(30):
            while line := (await self._process.stdout.readline()).decode().strip():
                if line.startswith(word):
                    return line
        raise AssertionError(f"{self.name} ended without saying {word}")

    def signal(self, number):
        os.kill(self._process.pid, number)

    async def end(self):
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):  # It has ended just now.
                self.signal(signal.SIGKILL)
        await self._process.wait()


@pytest.fixture
async def broker():
    """It misses a silent client after one or two seconds; candidates do not reach it directly."""
    settings = {
        "bindAddress": "127.0.0.2",
        "keepAliveIntervalSeconds": 1,
        "connectionLivenessCheckTimeoutMillis": 500,
    }
    async with LocalBroker(settings=settings) as broker:
        yield broker


@pytest.fixture
async def network(broker):
    async with Proxy("127.0.0.2", broker.port, listen_port=broker.port) as proxy:
        yield proxy


@pytest.fixture
async def stand(broker, network):
    """Starts candidates. The first one writes when this returns, the others wait in line."""
    candidates = []

    async def start(name):
        url = f"pulsar://127.0.0.1:{network.port}"
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(CANDIDATE), url, TOPIC, name, stdout=asyncio.subprocess.PIPE
        )
        candidate = Candidate(name, process)
        if candidates:
            await until_elsewhere(
                lambda: broker.broker.registry.loaded[PARSED].waiting_producers == len(candidates),
                f"{name} waits in another process",
            )
        else:
            await candidate.says("wrote")
        candidate.line = network.apart()
        candidates.append(candidate)
        return candidate

    yield start
    for candidate in candidates:
        await candidate.end()


async def writers(network):
    """Who wrote, in order; once for every time that somebody else had written in between."""
    async with Client(f"pulsar://127.0.0.1:{network.port}") as client:
        reader = await client.create_reader(TOPIC)
        names = []
        while await reader.has_message_available():
            names.append((await reader.receive()).data.decode().split()[0])
    return [name for name, _ in groupby(names)]


async def test_a_leader_that_is_killed_is_followed_by_the_next(network, stand):
    leaders = [await stand(name) for name in ("first", "second", "third")]
    for leader, following in pairwise(leaders):
        leader.signal(signal.SIGKILL)
        await following.says("wrote")
    assert await writers(network) == ["first", "second", "third"]


async def test_a_leader_that_is_suspended_finds_another_one_when_it_wakes(network, stand):
    first, second, third = [await stand(name) for name in ("first", "second", "third")]
    first.signal(signal.SIGSTOP)
    await second.says("wrote")
    second.signal(signal.SIGSTOP)
    await third.says("wrote")
    for late in (first, second):
        late.signal(signal.SIGCONT)
        assert "Fenced" in await late.says("lost")
    assert await writers(network) == ["first", "second", "third"]


async def test_a_leader_whose_network_is_cut_writes_no_more(network, stand):
    first, second, third = [await stand(name) for name in ("first", "second", "third")]
    first.line.clear()
    await second.says("wrote")
    first.line.set()  # What it wrote meanwhile comes too late.
    assert "Fenced" in await first.says("lost")
    second.line.clear()
    await third.says("wrote")
    second.line.set()
    assert "Fenced" in await second.says("lost")
    assert await writers(network) == ["first", "second", "third"]


async def test_one_that_waits_and_is_suspended_is_passed_over(network, stand):
    first, second, third = [await stand(name) for name in ("first", "second", "third")]
    second.signal(signal.SIGSTOP)
    first.signal(signal.SIGKILL)
    await third.says("wrote")
    assert await writers(network) == ["first", "third"]


def test_an_exclusive_producer_keeps_others_out_until_it_is_closed(official, topic):
    owner = official.create_producer(topic, access_mode=Mode.Exclusive)
    with pytest.raises(pulsar.ProducerFenced):
        official.create_producer(topic, access_mode=Mode.Exclusive)
    with pytest.raises(pulsar.ProducerBusy):
        official.create_producer(topic)
    owner.close()
    official.create_producer(topic).send(b"shared again")


def test_fencing_takes_the_topic_from_who_has_it(official, topic):
    owner = official.create_producer(topic, access_mode=Mode.Exclusive)
    owner.send(b"0")
    fencing = official.create_producer(topic, access_mode=Mode.ExclusiveWithFencing)
    fencing.send(b"1")
    with pytest.raises(pulsar.ProducerFenced):
        owner.send(b"2")
    consumer = official.subscribe(topic, "s", initial_position=pulsar.InitialPosition.Earliest)
    assert [message.data() for message in receive_all(consumer, 2)] == [b"0", b"1"]


def test_an_epoch_outlives_the_broker(tmp_path, topic):
    with BrokerProcess(tmp_path / "data") as broker:
        client = open_client(broker.service_url)
        old = client.create_producer(topic, "old", access_mode=Mode.Exclusive)
        broker.kill()
        broker.start()
        old.send(b"0")  # It comes back with its epoch.
        new = client.create_producer(topic, "new", access_mode=Mode.ExclusiveWithFencing)
        broker.kill()
        broker.start()
        new.send(b"1")
        with pytest.raises(pulsar.ProducerFenced):
            old.send(b"2")
        client.close()


def theirs_in_a_thread(official, topic, mode):
    """The broker asks whether our producer is alive, which a loop that waits could not answer."""
    return asyncio.to_thread(official.create_producer, topic, access_mode=mode)


async def test_our_client_and_the_official_one_keep_each_other_out(
    magnetar_broker, official, topic
):
    async with Client(magnetar_broker.service_url) as client:
        ours = await client.create_producer(topic, access_mode=ProducerAccessMode.EXCLUSIVE)
        with pytest.raises(pulsar.ProducerFenced):
            await theirs_in_a_thread(official, topic, Mode.Exclusive)
        await ours.send(b"0")
        theirs = await theirs_in_a_thread(official, topic, Mode.ExclusiveWithFencing)
        with pytest.raises(ProducerFenced):
            await ours.send(b"1")
        waits = ProducerAccessMode.WAIT_FOR_EXCLUSIVE
        waiting = asyncio.ensure_future(client.create_producer(topic, access_mode=waits))
        theirs.send(b"2")
        theirs.close()
        await (await waiting).send(b"3")
        reader = await client.create_reader(topic)
        assert [(await reader.receive(20)).data for _ in range(3)] == [b"0", b"2", b"3"]
