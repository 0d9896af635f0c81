"""Clusters of ours replicate a namespace to each other."""

import asyncio
from dataclasses import make_dataclass

import pytest
from support.loop import pass_time, until
from support.regions import regions

from magnetar import CompressionType, InitialPosition, OutgoingMessage
from magnetar.broker.replicated_topics import INTERVAL_S
from magnetar.errors import ConnectionLost, MagnetarError, Refused
from magnetar.message import metadata
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST as FIRST
from magnetar.model.position import Position
from magnetar.schemas import AutoConsumeSchema, Int32Schema, JsonSchema
from magnetar.wire.schemas import version_bytes

TOPIC = "persistent://geo/ns/t"
EARLIEST = InitialPosition.EARLIEST


async def published(region, topic=TOPIC, *, count=100, first=0, name=None, **config):
    """Send numbers to a topic of a region, and wait for their receipts."""
    async with await region.client.create_producer(topic, name=name, **config) as producer:
        await producer.send_many([b"%d" % number for number in range(first, first + count)])


async def received(region, count, topic=TOPIC, *, subscription="s"):
    """What comes first in a topic of a region."""
    async with await region.client.subscribe(
        topic, subscription, initial_position=EARLIEST
    ) as consumer:
        return [(await consumer.receive(20)).data for _ in range(count)]


async def stored(region, topic=TOPIC):
    """Every entry of a topic of a region."""
    ledger = region.topic(topic).ledger
    found, position = [], ledger.next_position(FIRST)
    while (run := await ledger.read(position, 1000, 1 << 24)) is not None:
        found += run.data
        position = ledger.next_position(run.last)
    return found


async def caught_up(here, there, topic=TOPIC):
    """Wait until a region has sent all of a topic to another."""
    name = TopicName.parse(topic)
    await until(lambda: name in here.loaded and there.name in here.topic(topic).writer.replicators)
    await until(lambda: not here.replicator(topic, there.name).backlog)


async def test_messages_go_both_ways_once_and_in_order():
    async with regions("west", "east") as (west, east):
        for region in (west, east):
            for number in range(2):
                await published(region, name=f"{region.name} {number}", batch_messages_max=7)
        for region in (west, east):
            consumer = await region.client.subscribe(TOPIC, "s", initial_position=EARLIEST)
            got = [await consumer.receive(10) for _ in range(400)]
            for name in ("west 0", "west 1", "east 0", "east 1"):
                mine = [int(each.data) for each in got if each.producer_name == name]
                assert mine == list(range(100))
        await caught_up(west, east)
        await caught_up(east, west)
        assert west.topic(TOPIC).message_count == east.topic(TOPIC).message_count == 400


async def test_an_entry_goes_as_it_is_and_says_where_it_comes_from():
    async with regions("west", "east") as (west, east):
        async with await west.client.create_producer(
            TOPIC, name="p", compression=CompressionType.ZSTD, initial_sequence_id=40
        ) as producer:
            message = OutgoingMessage(
                b"x" * 100, key="k", properties={"a": "b"}, event_time_ms=5, ordering_key=b"o"
            )
            await producer.send_many([message, b"y"])
        await caught_up(west, east)
        [there], [here] = await stored(east), await stored(west)
        size = int.from_bytes(here[:4])
        assert there[4 : 4 + size] == here[4 : 4 + size]
        assert there[metadata.parse(there).payload_start :] == here[4 + size :]
        assert metadata.peek(there).replicated_from == "west"
        position = west.topic(TOPIC).ledger.last_position
        assert metadata.parse(there).properties == {
            "__MSG_PROP_REPL_SOURCE_POSITION": str(position)
        }


async def test_a_message_goes_where_it_says():
    async with regions("west", "east", "north") as (west, east, north):
        async with await west.client.create_producer(TOPIC, batching=False) as producer:
            for number, clusters in enumerate([None, (), ["east"], ["north", "west"]]):
                await producer.send(OutgoingMessage(b"%d" % number, replication_clusters=clusters))
        await caught_up(west, east)
        await caught_up(west, north)
        assert await received(east, 2) == [b"0", b"2"]
        assert await received(north, 2) == [b"0", b"3"]


async def test_nothing_goes_round_in_a_ring():
    async with regions("west", "east", "north") as ring:
        for region in ring:
            await published(region, count=50, name=region.name)
        for here in ring:
            for there in ring:
                if here is not there:
                    await caught_up(here, there)
        assert [each.topic(TOPIC).message_count for each in ring] == [150, 150, 150]


async def test_chunks_and_transactions_arrive_whole():
    async with regions("west", "east", transactionCoordinatorEnabled=True) as (west, east):
        large = bytes(range(256)) * 40_000
        async with await west.client.create_producer(
            TOPIC, batching=False, chunking=True
        ) as producer:
            for commit in (False, True):
                transaction = await west.client.transaction()
                await producer.send(b"%d" % commit, txn=transaction)
                await (transaction.commit() if commit else transaction.abort())
            await producer.send(large)
        assert await received(east, 2) == [b"1", large]
        assert not any(map(metadata.transaction_of, await stored(east)))


async def test_a_cluster_that_is_away_costs_a_backlog_and_gets_it_later(tmp_path):
    async with regions("west", "east", folder=tmp_path) as (west, east):
        await (await east.client.subscribe(TOPIC, "s")).close()
        await published(west)
        await caught_up(west, east)
        await east.down()
        await published(west, first=100)
        there = (await west.replication(TOPIC))["east"]
        assert (there["connected"], there["replicationBacklog"] > 0) == (False, True)
        assert there["trouble"]
        await east.up()
        await caught_up(west, east)
        assert await received(east, 200) == [b"%d" % number for number in range(200)]
        assert (await west.replication(TOPIC))["east"]["trouble"] is None


async def test_what_was_not_sent_when_a_broker_ended_goes_without_a_client(tmp_path):
    async with regions("west", "east", folder=tmp_path) as (west, east):
        await (await east.client.subscribe(TOPIC, "s")).close()
        await published(west)
        await caught_up(west, east)
        await east.down()
        await published(west, first=100)
        await west.down()
        await east.up()
        await west.up()
        await caught_up(west, east)
        assert await received(east, 200) == [b"%d" % number for number in range(200)]


async def test_a_topic_that_was_closed_is_opened_again_without_a_client():
    async with regions("west", "east") as (west, east):
        await published(west)
        await caught_up(west, east)
        await pass_time(INTERVAL_S)  # A round finds it open.
        registry, topic = west.local.broker.registry, TopicName.parse(TOPIC)
        await registry.unload(topic)
        await pass_time(INTERVAL_S)
        await until(lambda: topic in registry.loaded)


async def test_nothing_is_doubled_where_connections_are_cut():
    settings = {"brokerDeduplicationEnabled": True, "replicationProducerQueueSize": 50}
    async with regions("west", "east", **settings) as (west, east):
        sent = 0
        for _ in range(12):
            await published(west, count=300, first=sent, name="p", batching=False)
            sent += 300
            await until(lambda: west.replicator(TOPIC, "east")._remote.address)
            west.replicator(TOPIC, "east")._remote._connection.abort(ConnectionLost("cut"))
        await caught_up(west, east)
        assert await received(east, sent) == [b"%d" % number for number in range(sent)]
        assert east.topic(TOPIC).message_count == sent


async def test_what_came_is_known_over_a_restart(tmp_path):
    settings = {"brokerDeduplicationEnabled": True, "folder": tmp_path}
    async with regions("west", "east", **settings) as (west, east):
        held = await east.client.subscribe(TOPIC, "held")
        await published(west, count=300, name="p", batching=False)
        await caught_up(west, east)
        await held.close()
        await east.down()
        await east.up()
        await west.replicator(TOPIC, "east").cursor.reset(FIRST)
        await caught_up(west, east)
        assert await received(east, 300) == [b"%d" % number for number in range(300)]
        assert east.topic(TOPIC).ledger.entry_count == 300


async def test_a_cluster_that_names_no_places_is_known_by_the_producers_ids():
    """As brokers before Pulsar 4.0, or behind a proxy."""
    async with regions("west", "east", brokerDeduplicationEnabled=True) as (west, east):
        await published(west, count=10, name="p", batching=False)
        await caught_up(west, east)
        replicator = west.replicator(TOPIC, "east")
        replicator._remote._by_position = False
        [inbound] = east.topic(TOPIC).producers.values()
        inbound.connection.replicates_by_position = False
        await published(west, first=10, count=90, name="p", batching=False)
        await caught_up(west, east)
        await replicator.cursor.reset(Position(replicator.mark.ledger_id, 20))
        replicator.wake()
        await published(west, first=100, count=1, name="p", batching=False)
        await caught_up(west, east)
        assert await received(east, 101) == [b"%d" % number for number in range(101)]
        assert east.topic(TOPIC).message_count == 101


async def test_clusters_come_and_go_with_the_policies_of_a_namespace():
    async with regions("west", "east") as (west, east):
        await published(west)
        await caught_up(west, east)
        await west.replicate("west")
        await until(lambda: "pulsar.repl.east" not in west.topic(TOPIC).ledger.cursors)
        await published(west, first=100)
        assert await west.replication(TOPIC) == {}
        await west.replicate("west", "east")
        await until(lambda: "pulsar.repl.east" in west.topic(TOPIC).ledger.cursors)
        await published(west, first=200)
        assert await received(east, 200) == [
            b"%d" % number for number in [*range(100), *range(200, 300)]
        ]


async def test_a_topic_may_say_it_itself():
    async with regions("west", "east") as (west, east):
        await west.replicate("west")
        await west.send("PUT", "persistent/geo/ns/t")
        await west.send("POST", "persistent/geo/ns/t/replication", ["west", "east"])
        await published(west)
        assert len(await received(east, 100)) == 100
        await west.send("DELETE", "persistent/geo/ns/t/replication")
        await until(lambda: not west.topic(TOPIC).writer.replicators)
        with pytest.raises(Refused):
            await west.send("POST", "persistent/geo/ns/t/replication", ["east"])


async def test_partitions_are_followed():
    async with regions("west", "east", allowAutoTopicCreation=False) as (west, east):
        path = "persistent/geo/ns/t/partitions"
        await west.send("PUT", path, 2)
        await published(west, count=10)

        async def there():
            return (await east.get(path))["partitions"]

        for index in range(2):
            await caught_up(west, east, f"{TOPIC}-partition-{index}")
        assert await there() == 2
        await west.send("POST", path, 3)
        await published(west, f"{TOPIC}-partition-2", count=1)
        await caught_up(west, east, f"{TOPIC}-partition-2")
        assert await there() == 3


async def test_a_topic_that_is_made_otherwise_there_is_named():
    async with regions("west", "east") as (west, east):
        await east.replicate("east")
        await east.send("PUT", "persistent/geo/ns/t/partitions", 2)
        await published(west, count=1)
        await until(lambda: west.replicator(TOPIC, "east")._remote.trouble)
        assert "2 partitions" in (await west.replication(TOPIC))["east"]["trouble"]


def of_fields(*names):
    """Records of these fields, which may be left out."""
    kind = make_dataclass("Record", [(name, str | None, None) for name in names])
    return JsonSchema(kind), kind


async def test_schemas_go_along_whatever_their_versions_are_there():
    async with regions("west", "east") as (west, east):
        await east.replicate("east")
        async with await east.client.create_producer(TOPIC, schema=of_fields("c", "b")[0]):
            pass
        for names in (["a"], ["a", "b"]):
            schema, kind = of_fields(*names)
            async with await west.client.create_producer(TOPIC, schema=schema) as producer:
                for number in range(3):
                    await producer.send(kind(*[str(number)] * len(names)))
        await caught_up(west, east)
        reader = await east.client.create_reader(TOPIC, schema=AutoConsumeSchema())
        got = [(await reader.receive(10)).value for _ in range(6)]
        assert [each["a"] for each in got] == ["0", "1", "2"] * 2
        assert [each.get("b") for each in got] == [None] * 3 + ["0", "1", "2"]
        versions = [metadata.schema_version(each) for each in await stored(east)]
        assert versions == [version_bytes(number) for number in (1, 1, 1, 2, 2, 2)]


async def test_a_schema_that_the_other_cluster_refuses_is_told():
    async with regions("west", "east") as (west, east):
        await east.replicate("east")
        async with await east.client.create_producer(TOPIC, schema=Int32Schema()):
            pass
        schema, kind = of_fields("a")
        async with await west.client.create_producer(TOPIC, schema=schema) as producer:
            await producer.send(kind("b"))
        await until(lambda: west.replicator(TOPIC, "east")._remote.trouble)
        there = (await west.replication(TOPIC))["east"]
        assert "schema" in there["trouble"]
        assert there["replicationBacklog"] == 1


async def test_rates_hold():
    async with regions("west", "east") as (west, east):
        await published(west, count=1)
        await caught_up(west, east)
        rate = {
            "dispatchThrottlingRateInMsg": 10,
            "dispatchThrottlingRateInByte": -1,
            "ratePeriodInSecond": 1,
        }
        await west.send("POST", "namespaces/geo/ns/replicatorDispatchRate", rate)
        await published(west, first=1, count=60, batching=False)
        await until(lambda: west.replicator(TOPIC, "east")._waiting is not None)
        assert await west.backlog(TOPIC, "east") > 0
        await pass_time(10)
        await caught_up(west, east)
        assert len(await received(east, 61)) == 61


async def test_messages_that_are_too_old_do_not_go():
    async with regions("west", "east") as (west, east):
        await published(west)
        await caught_up(west, east)
        await east.down()
        await published(west, first=100, batching=False)
        await west.send("POST", "namespaces/geo/ns/messageTTL", 1)
        assert await west.backlog(TOPIC, "east") == 100
        await asyncio.sleep(1.1)
        await west.topic(TOPIC).upkeep.expire_old()
        assert await west.backlog(TOPIC, "east") == 0
        assert (await west.replication(TOPIC))["east"]["msgExpiredCount"] == 100


async def test_a_backlog_quota_knows_what_is_to_be_sent():
    async with regions("west", "east") as (west, east):
        await published(west)
        await caught_up(west, east)
        await east.down()
        quota = {"limitSize": 1000, "policy": "producer_exception"}
        await west.send("POST", "namespaces/geo/ns/backlogQuota", quota)
        await published(west, count=200, batching=False)
        with pytest.raises(MagnetarError, match="backlog quota"):
            await west.client.create_producer(TOPIC)


async def test_stats_and_metrics_tell_of_each_cluster():
    async with regions("west", "east") as (west, east):
        await published(west, batching=False)
        await published(east, count=7, batching=False)
        await caught_up(west, east)
        await caught_up(east, west)
        await caught_up(west, east)  # It passes over what came from there.
        there = (await west.replication(TOPIC))["east"]
        assert (there["connected"], there["replicationBacklog"]) == (True, 0)
        assert (there["msgOutCount"], there["msgInCount"]) == (100, 7)
        assert there["outboundConnection"] == "/" + east.service_url.rpartition("/")[2]
        assert there["inboundConnection"]
        shown = (await west.admin.ask("GET", "/metrics/")).body.decode()
        labels = 'cluster="west",namespace="geo/ns",topic="persistent://geo/ns/t"'
        assert f'pulsar_replication_backlog{{{labels},remote_cluster="east"}} 0' in shown
        assert f'pulsar_replication_connected_count{{{labels},remote_cluster="east"}} 1' in shown


async def test_a_cluster_is_let_go_of_when_there_is_nothing_to_send():
    async with regions("west", "east") as (west, east):
        await published(west)
        await caught_up(west, east)
        await received(west, 1)
        topic = west.topic(TOPIC)
        replicator = west.replicator(TOPIC, "east")
        replicator._used_at -= 100
        await topic.maintain()
        assert not replicator._attached
        assert await topic.prepare_for_rest()
        await published(west)
        await caught_up(west, east)


async def test_nothing_is_deleted_of_what_is_to_be_sent():
    async with regions("west", "east") as (west, east):
        await published(west)
        await caught_up(west, east)
        await east.down()
        await published(west, first=100)
        topic = west.topic(TOPIC)
        assert not await topic.prepare_for_rest()
        assert topic.unused_max_s is None
