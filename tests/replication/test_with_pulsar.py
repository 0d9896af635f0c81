"""A cluster of ours and one of Apache Pulsar 4.0.7 replicate to each other.

``ON_CLUSTER=1 pytest tests/replication/test_with_pulsar.py``, with ``COUNT=100000`` for so many
messages each way; ``make cluster-jars`` fetches it.
"""

import asyncio
import os

import pytest
from replication.test_two_clusters import of_fields, published, received
from support.apache_pulsar import apache_pulsar
from support.loop import until
from support.regions import LocalRegion, Region, introduce

from magnetar import Client, OutgoingMessage
from magnetar.errors import ConnectionLost
from magnetar.schemas import AutoConsumeSchema

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not os.environ.get("ON_CLUSTER"), reason="ON_CLUSTER=1 starts a Pulsar"),
]
COUNT = int(os.environ.get("COUNT", "1000"))
NUMBERS = [b"%d" % number for number in range(COUNT)]


@pytest.fixture(scope="module")
def pulsar(request, tmp_path_factory):
    settings = "clusterName=east\nbrokerDeduplicationEnabled=true\n"
    with apache_pulsar(request, tmp_path_factory.mktemp("pulsar"), settings) as running:
        yield running


@pytest.fixture
async def pair(pulsar, tmp_path, request):
    """One of ours, named as the test, and Pulsar's; and a topic that they replicate."""
    name = request.node.name.replace("_", "-")
    here = LocalRegion(name, tmp_path, {"brokerDeduplicationEnabled": True})
    await here.up()
    there = Region("east", pulsar.url, pulsar.web_url)
    await introduce([here, there], f"{name}/ns")
    async with Client(there.service_url) as client:
        there.client = client
        topic = f"persistent://{name}/ns/t"
        for region in (here, there):
            await (await region.client.subscribe(topic, "s")).close()
        yield here, there, topic
    await here.down()


async def nothing_left(here, there, topic):
    while await here.backlog(topic, there.name):  # noqa: ASYNC110 - it tells when it is asked
        await asyncio.sleep(0.1)


async def test_messages_go_both_ways(pair):
    here, there, topic = pair
    for region in (here, there):
        await published(region, topic, count=COUNT, name=f"of {region.name}")
        async with await region.client.create_producer(topic, batching=False) as producer:
            await producer.send(OutgoingMessage(b"alone", replication_clusters=()))
    await nothing_left(here, there, topic)
    await nothing_left(there, here, topic)
    for region in (here, there):
        got = await received(region, 2 * COUNT + 1, topic)
        assert sorted(got) == sorted([*NUMBERS, *NUMBERS, b"alone"])
    assert here.topic(topic).message_count == 2 * COUNT + 1
    assert (await there.stats(topic))["msgInCounter"] == 2 * COUNT + 1
    told = (await there.replication(topic))[here.name]
    assert (told["connected"], told["msgInCount"]) == (True, COUNT)


async def test_nothing_is_doubled_where_connections_are_cut(pair):
    here, there, topic = pair
    for first in range(0, COUNT, COUNT // 10):
        for region in (here, there):
            await published(
                region,
                topic,
                count=COUNT // 10,
                first=first,
                name=f"of {region.name}",
                batching=False,
            )
        await until(lambda: here.replicator(topic, "east")._remote.address)
        here.replicator(topic, "east")._remote._connection.abort(ConnectionLost("cut"))
        for producer in list(here.topic(topic).producers.values()):
            producer.connection.cut_off("cut")
    await nothing_left(here, there, topic)
    await nothing_left(there, here, topic)
    for region in (here, there):
        got = await received(region, 2 * COUNT, topic)
        assert sorted(got) == sorted([*NUMBERS, *NUMBERS])
    assert here.topic(topic).message_count == 2 * COUNT
    kept = await there.get(topic.replace("://", "/") + "/internalStats")
    assert kept["entriesAddedCounter"] == 2 * COUNT  # Its stats count what it drops, too.


async def test_ours_may_be_away(pair):
    here, there, topic = pair
    await published(there, topic, count=COUNT // 2)
    await nothing_left(there, here, topic)
    await here.down()
    await published(there, topic, count=COUNT // 2, first=COUNT // 2)
    await here.up()
    await nothing_left(there, here, topic)
    assert await received(here, COUNT, topic) == NUMBERS


async def test_schemas_go_along(pair):
    here, there, topic = pair
    for region, fields in ((here, ["a"]), (here, ["a", "b"]), (there, ["a", "c"])):
        schema, kind = of_fields(*fields)
        async with await region.client.create_producer(topic, schema=schema) as producer:
            await producer.send(kind(*fields))
        await nothing_left(here, there, topic)
        await nothing_left(there, here, topic)
    for region in (here, there):
        reader = await region.client.create_reader(topic, schema=AutoConsumeSchema())
        got = [(await reader.receive(10)).value for _ in range(3)]
        assert [{key for key, value in each.items() if value} for each in got] == [
            {"a"},
            {"a", "b"},
            {"a", "c"},
        ]
