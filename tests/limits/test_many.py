"""Thousands of connections that do nothing, hundreds of topics with a slow consumer each.

`make test` takes 2,000 connections and 400 topics. `LIMITS_CONNECTIONS=10000` is as many as a
broker must carry, `LIMITS_TOPICS=1000` was tried; `python -m bench.memory` says what connections
cost. Opening and greeting thousands takes some seconds.
"""

import os
import resource

import psutil
import pytest
from limits.bystander import PATIENCE_S, memory, well_behaved
from unit.broker.peer import Peer, send

from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.timeout(240)

CONNECTIONS = int(os.environ.get("LIMITS_CONNECTIONS", "2000"))
SPARE_FILES = 300
CONNECTION_BYTES_MAX = 4096  # The target is 2,048: see docs/limits.md for what there is to it.
TOPICS = int(os.environ.get("LIMITS_TOPICS", "400"))
CONSUMERS_PER_CONNECTION = 100
ENTRIES_PER_TOPIC = 5
TOPIC_BYTES_MAX = 24 * 1024  # With a producer, a subscription, a consumer and entries.
KEEP_ALIVE_S = 10
SLACK = 12 * 1024 * 1024  # What a broker at work allocates whatever there is of it.


@pytest.fixture
def files():
    """Room for the connections, in this process and in those it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + SPARE_FILES
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"{hard} open files are allowed here (ulimit -Hn), {wanted} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def settings():
    return {
        "webServicePort": -1,
        "keepAliveIntervalSeconds": KEEP_ALIVE_S,
        "managedLedgerCacheSizeMB": 8,
        "durability": "none",
    }


@pytest.fixture
def broker(tmp_path, files, settings):  # noqa: ARG001 - the limits are to be raised first
    with BrokerProcess(tmp_path / "data", settings=settings) as process:
        yield process


@pytest.fixture
def opened():
    """Connections, closed in the end."""
    peers = []
    yield peers
    for one in peers:
        one.wire.close()


async def test_thousands_of_idle_connections_cost_little_and_hold_nobody_up(
    broker, bystander, alone, opened
):
    """They are pinged, answer and stay; when they go, the broker has its descriptors back."""
    await bystander.pace()
    before, process = memory(broker.pid), psutil.Process(broker.pid)
    descriptors = process.num_fds()
    for _ in range(CONNECTIONS):
        opened.append(await well_behaved(broker.port))
    await bystander.check(alone)
    assert process.num_fds() >= descriptors + CONNECTIONS
    while not all(one.wire.answered for one in opened):
        await bystander.round_and_rest()
    await bystander.check(alone)
    assert not any(one.wire.closed for one in opened), "the broker closed the connection"
    assert memory(broker.pid) - before < CONNECTIONS * CONNECTION_BYTES_MAX + SLACK
    for one in opened:
        one.wire.close()
    while process.num_fds() > descriptors:
        await bystander.round_and_rest()
    await bystander.check(alone)


async def consumers(port: int) -> list[Peer]:
    """One for each topic, many on a connection, each with a permit for one message at a time."""
    peers = []
    for start in range(0, TOPICS, CONSUMERS_PER_CONNECTION):
        peer = await well_behaved(port)
        for number in range(start, start + CONSUMERS_PER_CONNECTION):
            topic = f"persistent://public/default/many-{number}"
            await peer.consume(number, topic, permits=1)
        peers.append(peer)
    return peers


async def test_topics_with_a_slow_consumer_each_are_all_served(broker, bystander, alone):
    """Each consumer takes one message, and the next when all others have theirs."""
    await bystander.pace()
    before = memory(broker.pid)
    publisher, peers = await well_behaved(broker.port), await consumers(broker.port)
    for number in range(TOPICS):
        await publisher.produce(number, f"persistent://public/default/many-{number}")
        publisher.wire.send(
            b"".join(send(number, entry, b"x" * 100) for entry in range(ENTRIES_PER_TOPIC))
        )
        for _ in range(ENTRIES_PER_TOPIC):
            assert (await publisher.hear(PATIENCE_S)).HasField("send_receipt")
    await bystander.check(alone)
    assert memory(broker.pid) - before < TOPICS * TOPIC_BYTES_MAX + SLACK
    for _ in range(ENTRIES_PER_TOPIC):
        for peer in peers:
            got = [(await peer.hear(PATIENCE_S)).message for _ in range(CONSUMERS_PER_CONNECTION)]
            assert len({message.consumer_id for message in got}) == CONSUMERS_PER_CONNECTION
            for message in got:
                ids = [message.message_id]
                peer.tell("ack", consumer_id=message.consumer_id, ack_type=0, message_id=ids)
                peer.tell("flow", consumer_id=message.consumer_id, messagePermits=1)
        await bystander.check(alone)
    for peer in (publisher, *peers):
        peer.wire.close()
