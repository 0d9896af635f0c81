"""Limits hold for those who come at the same moment, by both ways in: where rooms meet."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager

import aiohttp
from unit.broker.peer import TOPIC, Peer, command

from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker

AT_ONCE = 5
SHARED = pb.CommandSubscribe.Shared
PERSISTENT = "persistent/public/default"


class Door:
    """Both ways into one broker: a connection of the protocol, and the admin API."""

    def __init__(self, peer: Peer, session: aiohttp.ClientSession) -> None:
        self.peer = peer
        self._session = session

    async def protocol(self, field: str, commands: list[dict]) -> Counter[str]:
        """Send the commands in one write, and count what they are answered with."""
        for values in commands:
            await self.peer.ask("lookupTopic", topic=values["topic"], request_id=900)
        frames = [
            command(field, request_id=number, **values) for number, values in enumerate(commands)
        ]
        self.peer.wire.send(b"".join(frames))
        answers = [await self.peer.hear() for _ in commands]
        return Counter("refused" if one.HasField("error") else "taken" for one in answers)

    async def admin(self, requests: list[tuple[str, str, str | None]]) -> Counter[str]:
        """Ask all at once, and count what they are answered with."""
        statuses = await asyncio.gather(*(self.ask(*request) for request in requests))
        return Counter("taken" if status < 300 else "refused" for status in statuses)

    async def ask(self, method: str, path: str, body: str | None = None) -> int:
        headers = {"Content-Type": "application/json"}
        async with self._session.request(
            method, f"/admin/v2/{path}", data=body, headers=headers
        ) as response:
            await response.read()
            return response.status


@asynccontextmanager
async def opened(folder, **settings):
    """A broker that stores on disk, so that what is asked at once is really under way at once."""
    async with (
        LocalBroker(folder / "data", settings=settings) as broker,
        aiohttp.ClientSession(f"http://127.0.0.1:{broker.web_port}") as session,
    ):
        yield Door(await Peer.open(broker.port), session)


async def test_a_subscription_takes_as_many_consumers_at_once_as_it_may_have(tmp_path):
    async with opened(tmp_path, maxConsumersPerSubscription=2) as door:
        consumers = [
            {"topic": TOPIC, "consumer_id": number, "subType": SHARED, "subscription": "s"}
            for number in range(AT_ONCE)
        ]
        taken = await door.protocol("subscribe", consumers)
        assert taken == {"taken": 2, "refused": 3}


async def test_partitioned_topics_made_at_once_count_as_their_partitions(tmp_path):
    async with opened(tmp_path, maxTopicsPerNamespace=5) as door:
        requests = [("PUT", f"{PERSISTENT}/t{n}/partitions", "2") for n in range(AT_ONCE)]
        assert await door.admin(requests) == {"taken": 2, "refused": 3}


async def test_topics_by_both_ways_in_count_together(tmp_path):
    async with opened(tmp_path, maxTopicsPerNamespace=3) as door:
        commands = [
            {"topic": f"{TOPIC}-{number}", "producer_id": number} for number in range(AT_ONCE)
        ]
        by_protocol, by_admin = await asyncio.gather(
            door.protocol("producer", commands),
            door.admin([("PUT", f"{PERSISTENT}/a{n}", None) for n in range(AT_ONCE)]),
        )
        assert by_protocol + by_admin == {"taken": 3, "refused": 7}


async def test_partitioned_topics_that_clients_make_at_once_are_held_to_the_limit(tmp_path):
    settings = {
        "maxTopicsPerNamespace": 4,
        "allowAutoTopicCreationType": "partitioned",
        "defaultNumPartitions": 2,
    }
    async with opened(tmp_path, **settings) as door:
        peer = door.peer
        peer.wire.send(
            b"".join(
                command("partitionMetadata", topic=f"{TOPIC}-{number}", request_id=number)
                for number in range(AT_ONCE)
            )
        )
        answers = [(await peer.hear()).partitionMetadataResponse for _ in range(AT_ONCE)]
        assert Counter(one.partitions for one in answers) == {2: 2, 0: 3}
        made = next(one.request_id for one in answers if one.partitions)
        await peer.produce(1, topic=f"{TOPIC}-{made}-partition-1")
