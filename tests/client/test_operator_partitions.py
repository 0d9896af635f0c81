"""Dead letters, and messages once more, of all partitions of a topic, on a real broker."""

import asyncio
import json

import pytest
from support.admin import ask
from support.clock import ManualClock

from magnetar import OutgoingMessage
from magnetar.broker.admin.owners import Owners
from magnetar.broker.admin.routes import redrive, replay
from magnetar.client.client import Client
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.testing.local_broker import LocalBroker

ALL = "persistent/public/default"
DEAD = "persistent://public/default/dead"
LARGE = b"x" * 1_000
HOME = {"REAL_TOPIC": "persistent://public/default/home"}
SHARED = SubscriptionType.SHARED


class World:
    """A broker, a client, and a topic ``dead`` of three partitions with a subscription ``kept``."""

    def __init__(self, broker, client):
        self.broker, self.client = broker, client

    async def ask(self, method, path, value=None):
        return await asyncio.to_thread(ask, self.broker, method, f"{ALL}/{path}", value)

    async def fill(self, *values, properties=None):
        """The next each time into the next partition."""
        for index, value in enumerate(values):
            name = f"{DEAD}-partition-{index % 3}"
            producer = await self.client.create_producer(name, batching=False)
            await producer.send(OutgoingMessage(value, properties=properties or {}))
            await producer.close()

    async def left(self):
        """Of each partition."""
        stats = await self.ask("GET", "dead/partitioned-stats?perPartition=true")
        parts = sorted(stats["partitions"].items())
        return [each["subscriptions"]["kept"]["msgBacklog"] for _, each in parts]

    async def redriven(self, order):
        await self.ask("POST", "dead/redrive", order)
        while (found := await self.ask("GET", "dead/redrive"))["status"] == "RUNNING":
            pass
        return found

    async def at_home(self, count):
        """What came back, sorted; no more than that."""
        reader = await self.client.subscribe("home", "r", initial_position=InitialPosition.EARLIEST)
        found = [(await reader.receive()).data for _ in range(count)]
        stats = await self.ask("GET", "home/stats")
        assert stats["subscriptions"]["r"]["msgBacklog"] == count
        return sorted(found)


@pytest.fixture
async def clock():
    return None


@pytest.fixture
async def world(clock):
    async with LocalBroker(clock=clock) as broker, Client(broker.service_url) as client:
        opened = World(broker, client)
        await opened.ask("PUT", "home")
        await opened.ask("PUT", "dead/partitions", 3)
        await opened.ask("PUT", "dead/subscription/kept", "earliest")
        yield opened


async def test_letters_of_all_partitions_go_back_together(world):
    values = [b"0", b"1", b"2", b"3", b"4", b"5"]
    await world.fill(*values, properties=HOME)
    dry = await world.ask("POST", "dead/redrive", {"dryRun": True})
    assert (dry["messages"], dry["complete"], len(dry["sample"])) == (6, True, 6)
    assert await world.left() == [2, 2, 2]
    found = await world.redriven({"count": 3})
    assert (found["status"], found["messages"], found["complete"]) == ("SUCCESS", 3, False)
    found = await world.redriven({})
    assert (found["messages"], found["complete"]) == (3, True)
    assert [(each["status"], each["messages"]) for each in found["partitions"]] == [
        ("SUCCESS", 0),
        ("SUCCESS", 1),
        ("SUCCESS", 2),
    ]
    assert await world.left() == [0, 0, 0]
    assert await world.at_home(6) == values


async def test_a_redrive_that_fails_half_way_says_what_was_moved_and_loses_nothing(world):
    await world.ask("POST", "home/maxMessageSize", 300)
    await world.fill(b"small", LARGE, b"last", properties=HOME)
    found = await world.redriven({})
    assert found["status"] == "ERROR"
    assert found["error"].startswith(f"{DEAD}-partition-1: ")
    assert (
        "0 of this partition, 1 in all. Done: partition 0; not begun: partition 2."
        in (found["error"])
    )
    assert [each["status"] for each in found["partitions"]] == ["SUCCESS", "ERROR", "NOT_RUN"]
    assert await world.left() == [0, 1, 1]
    await world.ask("DELETE", "home/maxMessageSize")
    assert (await world.redriven({}))["messages"] == 2
    assert await world.left() == [0, 0, 0]
    assert await world.at_home(3) == [b"last", b"small", LARGE]


@pytest.mark.parametrize("clock", [ManualClock()], ids=["time stands still"])
async def test_a_redrive_goes_on_when_its_topics_are_closed_and_opened_again(world, clock):
    """It knows them by name alone: nothing is lost, and nothing comes twice."""
    await world.fill(*[b"x"] * 9, properties=HOME)
    await world.ask("POST", "dead/redrive", {"rate": 10})
    while not (await world.ask("GET", "dead/redrive"))["messages"]:
        pass
    for name in ("dead-partition-0", "dead-partition-1", "dead-partition-2", "home"):
        await world.ask("PUT", f"{name}/unload")
    while (found := await world.ask("GET", "dead/redrive"))["status"] == "RUNNING":
        await clock.advance(0.1)
    assert (found["status"], found["messages"], found["error"]) == ("SUCCESS", 9, "")
    assert await world.left() == [0, 0, 0]
    assert await world.at_home(9) == [b"x"] * 9


async def test_none_is_taken_for_a_duplicate_of_another(world):
    """Each group of letters is published by a producer of its own, all of one name."""
    await world.ask("POST", "home/deduplicationEnabled", True)
    await world.fill(*[b"x"] * 9, properties=HOME)
    found = await world.redriven({"rate": 20})
    assert (found["status"], found["messages"]) == ("SUCCESS", 9)
    assert await world.at_home(9) == [b"x"] * 9


async def test_a_redrive_ends_where_its_topic_is_gone(world):
    await world.fill(*[b"x"] * 9, properties=HOME)
    await world.ask("POST", "dead/redrive", {"rate": 10})
    while not (await world.ask("GET", "dead/redrive"))["messages"]:
        pass
    await world.ask("DELETE", "dead-partition-2?force=true")
    while (found := await world.ask("GET", "dead/redrive"))["status"] == "RUNNING":
        pass
    assert found["status"] == "ERROR"
    assert found["error"].startswith(f"{DEAD}-partition-2: ")


async def test_one_that_is_stopped_leaves_the_rest(world):
    await world.fill(*[b"x"] * 9, properties=HOME)
    await world.ask("POST", "dead/redrive", {"rate": 5})
    for path in ("dead/redrive", "dead-partition-2/redrive"):
        with pytest.raises(OSError, match="409"):
            await world.ask("POST", path, {})
    while not (await world.ask("GET", "dead/redrive"))["messages"]:
        pass
    await world.ask("DELETE", "dead/redrive")
    found = await world.ask("GET", "dead/redrive")
    assert (found["status"], found["error"]) == ("ERROR", "It was stopped")
    assert sum(await world.left()) == 9 - found["messages"]
    await world.redriven({})
    assert await world.at_home(9) == [b"x"] * 9


@pytest.mark.parametrize(
    ("to", "reason"),
    [
        (DEAD, "the letters are there already"),
        ("non-persistent://public/default/home", "a non-persistent topic keeps nothing"),
    ],
)
async def test_letters_do_not_go_where_they_would_be_lost_or_are(world, to, reason):
    await world.fill(b"x")
    found = await world.redriven({"to": to})
    assert reason in str(found["skipped"])
    assert await world.left() == [1, 0, 0]


@pytest.mark.parametrize("path", ["dead/redrive", "dead/subscription/kept/replay"])
async def test_of_too_many_partitions_each_is_asked_for(world, monkeypatch, path):
    for module in (redrive, replay):
        monkeypatch.setattr(module, "PARTITIONS_MAX", 2)
    with pytest.raises(OSError, match="405"):
        await world.ask("POST", path, {})


async def test_messages_of_all_partitions_come_once_more(world):
    consumer = await world.client.subscribe("dead", "kept", type=SHARED)
    await world.fill(b"0", b"1", b"2", b"3")
    for _ in range(4):
        await consumer.acknowledge(await consumer.receive())
    while any(await world.left()):
        pass
    dry = await world.ask("POST", "dead/subscription/kept/replay", {"dryRun": True, "count": 3})
    assert (dry["entries"], dry["messages"], dry["complete"]) == (3, 3, False)
    assert not any(await world.left())
    found = await world.ask("POST", "dead/subscription/kept/replay", {})
    assert (found["entries"], found["complete"]) == (4, True)
    assert [each["entries"] for each in found["partitions"]] == [2, 1, 1]
    again = sorted([(await consumer.receive()).data for _ in range(4)])
    assert again == [b"0", b"1", b"2", b"3"]


async def test_a_replay_that_fails_half_way_says_of_how_much_it_was_done(world, monkeypatch):
    await world.fill(b"0", b"1", b"2")
    await world.ask("POST", "dead/subscription/kept/skip_all")
    asked = []

    async def ask_topic(owners, name, *what, body):
        """As it is, but that a subscription goes when all have said what they have."""
        asked.append(body["dryRun"])
        if asked == [True] * 3 + [False] * 2:
            await world.ask("DELETE", "dead-partition-1/subscription/kept")
        return await ask_as_it_is(owners, name, *what, body=body)

    ask_as_it_is = Owners.ask_topic
    monkeypatch.setattr(Owners, "ask_topic", ask_topic)
    with pytest.raises(OSError, match="404") as refused:
        await world.ask("POST", "dead/subscription/kept/replay", {})
    reason = json.loads(refused.value.read())["reason"]
    assert reason.startswith(f"{DEAD}-partition-1: ")
    assert "1 entries of the partitions before it come again, 2 of it and of" in reason
    await world.ask("PUT", "dead-partition-1/subscription/kept", "latest")
    assert await world.left() == [1, 0, 0]
