"""What stats say of a topic is what clients did to it: every counter and every time."""

import json
import re
import time
from pathlib import Path
from urllib.request import urlopen

import pulsar
import pytest
from compatibility.conftest import open_client, stats
from support.elsewhere import wait_until
from support.on_cluster import on_cluster

from magnetar import Client
from magnetar.testing.local_broker import BrokerThread

pytestmark = pytest.mark.compatibility

RECORDED = json.loads((Path(__file__).parents[1] / "golden/admin/stats.json").read_text())
NEWER = {"topicCreationTimeStamp", "lastPublishTimeStamp"}  # Pulsar has them since 4.1.
OURS = {"blockedReason", "blockedSince"}
NOT_RECORDED = {"oldestBacklogMessageSubscriptionName"}  # It had not checked ages yet.
NOT_ALWAYS = {"activeConsumerName", "keySharedMode", "drainingHashes", "keyHashRangeArrays"}
LARGEST = 100 * 1024
SINGLES, BATCH, CHUNKS = 5, 8, 3
CHECKSUM = 6
"""Bytes of an entry at a bookie, where it is as Pulsar writes it; files have checksums apart."""
ENTRIES, MESSAGES = SINGLES + 1 + CHUNKS, SINGLES + BATCH + CHUNKS


@pytest.fixture(scope="module")
def broker():
    with BrokerThread(settings={"maxMessageSize": LARGEST}) as broker:
        yield broker


def now_ms():
    return time.time_ns() // 1_000_000


async def publish(broker, topic):
    """Five messages alone by the official client; a batch and a chunked message by ours."""
    official = open_client(broker.service_url)
    single = official.create_producer(topic, producer_name="single", batching_enabled=False)
    for number in range(SINGLES):
        single.send(b"%d" % number + bytes(99))
    async with Client(broker.service_url) as ours:
        batches = await ours.create_producer(topic, name="batches", batching=True)
        await batches.send_many([b"b" * 50] * BATCH)
        await batches.close()
        chunked = await ours.create_producer(topic, name="chunks", batching=False, chunking=True)
        await chunked.send(b"c" * (LARGEST * 5 // 2))
        shown = stats(broker, topic)
    return official, shown


def acknowledged(broker, topic):
    """Stats once both acknowledgements came: the client sends them a while later."""
    return wait_until(
        lambda: stats(broker, topic, "?getEarliestTimeInBacklog=true"),
        "statistics are asked for, not told",
        met=lambda shown: shown["subscriptions"]["busy"]["msgBacklog"] == ENTRIES - 2,
    )


def keys(value):
    """The names in an answer, without those that only some subscriptions have."""
    if isinstance(value, list):
        return keys(value[0]) if value else None
    if not isinstance(value, dict):
        return type(value).__name__
    return {
        k: keys(v) for k, v in value.items() if k not in NEWER | OURS | NOT_RECORDED | NOT_ALWAYS
    }


async def test_every_counter_and_time_is_what_was_done(broker, topic):
    began = now_ms()
    watcher = open_client(broker.service_url)
    watcher.subscribe(topic, "idle", consumer_name="nobody").close()
    official, shown = await publish(broker, topic)
    published = now_ms()
    payloads = SINGLES * 100 + BATCH * 50 + LARGEST * 5 // 2

    assert (shown["msgInCounter"], shown["msgChunkPublished"]) == (MESSAGES, True)
    stored = shown["bytesInCounter"] + (ENTRIES * CHECKSUM if on_cluster() else 0)
    assert payloads < shown["bytesInCounter"] <= stored == shown["storageSize"] < payloads + 2000
    assert began <= shown["topicCreationTimeStamp"] <= shown["lastPublishTimeStamp"] <= published
    assert {each["producerName"] for each in shown["publishers"]} == {"single", "chunks"}
    assert {each["accessMode"] for each in shown["publishers"]} == {"Shared"}
    idle = shown["subscriptions"]["idle"]
    assert (idle["msgBacklog"], idle["msgOutCounter"], idle["lastConsumedTimestamp"]) == (
        ENTRIES,
        0,
        0,
    )
    assert (idle["lastAckedTimestamp"], idle["lastMarkDeleteAdvancedTimestamp"]) == (0, 0)

    consumer = watcher.subscribe(
        topic,
        "busy",
        consumer_name="c",
        consumer_type=pulsar.ConsumerType.Shared,
        initial_position=pulsar.InitialPosition.Earliest,
        receiver_queue_size=100,
        negative_ack_redelivery_delay_ms=100,
    )
    received = [consumer.receive(20_000) for _ in range(SINGLES + BATCH + 1)]
    delivered = now_ms()
    shown = stats(broker, topic)
    before = shown["subscriptions"]["busy"]
    assert (before["msgOutCounter"], before["unackedMessages"]) == (MESSAGES, MESSAGES)
    assert before["bytesOutCounter"] == shown["bytesInCounter"] == shown["bytesOutCounter"]
    assert published <= before["lastConsumedFlowTimestamp"]
    assert published <= before["lastConsumedTimestamp"] <= delivered + 1
    assert (before["lastAckedTimestamp"], before["lastMarkDeleteAdvancedTimestamp"]) == (0, 0)
    assert before["nonContiguousDeletedMessagesRanges"] == 0
    [its] = before["consumers"]
    assert its["avgMessagesPerEntry"] == round(MESSAGES / ENTRIES)
    assert its["availablePermits"] == 100 - MESSAGES

    consumer.acknowledge(received[0])
    consumer.acknowledge(received[2])
    consumer.negative_acknowledge(received[1])
    again = consumer.receive(20_000)
    assert (again.data(), again.redelivery_count()) == (received[1].data(), 1)
    shown = acknowledged(broker, topic)
    done = now_ms()
    after = shown["subscriptions"]["busy"]
    single_bytes = after["bytesOutCounter"] - shown["bytesInCounter"]
    assert 100 < single_bytes < 200
    assert (after["msgOutCounter"], after["msgBacklog"]) == (MESSAGES + 1, ENTRIES - 2)
    assert after["unackedMessages"] == MESSAGES - 2
    assert after["nonContiguousDeletedMessagesRanges"] == 1
    assert shown["nonContiguousDeletedMessagesRanges"] == 1
    assert after["nonContiguousDeletedMessagesRangesSerializedSize"] > 0
    for name in ("lastAckedTimestamp", "lastMarkDeleteAdvancedTimestamp", "lastConsumedTimestamp"):
        assert delivered - 1 <= after[name] <= done + 1, name
    earliest = {n: s["earliestMsgPublishTimeInBacklog"] for n, s in shown["subscriptions"].items()}
    assert earliest == {
        "idle": received[0].publish_timestamp(),
        "busy": received[1].publish_timestamp(),
    }
    assert shown["earliestMsgPublishTimeInBacklogs"] == received[0].publish_timestamp()
    age_ms = done - received[0].publish_timestamp()
    assert 0 <= shown["oldestBacklogMessageAgeSeconds"] <= age_ms // 1000
    assert shown["oldestBacklogMessageSubscriptionName"] == "idle"
    assert idle["blockedReason"] == "no consumer is connected"
    held = r"every entry was delivered; consumer c has held the oldest for \d+ s"
    assert re.fullmatch(held, after["blockedReason"])

    theirs = RECORDED | {"subscriptions": RECORDED["subscriptions"]["sub-sh2"]}
    assert keys(shown | {"subscriptions": after}) == keys(theirs)

    consumer.close()
    left = stats(broker, topic)["subscriptions"]["busy"]
    assert left["consumers"] == []
    kept = ("msgOutCounter", "bytesOutCounter", "lastAckedTimestamp", "lastConsumedFlowTimestamp")
    assert [left[name] for name in kept] == [after[name] for name in kept]
    assert abs(left["lastConsumedTimestamp"] - after["lastConsumedTimestamp"]) <= 1
    watcher.close()
    official.close()


def test_a_topic_that_flows_is_never_told_to_be_blocked(broker):
    topic = "persistent://public/default/flows"
    official = open_client(broker.service_url)
    consumer = official.subscribe(topic, "s", consumer_type=pulsar.ConsumerType.Shared)
    producer = official.create_producer(topic, batching_enabled=False)
    held, backlogs = [], set()
    for _ in range(20):
        producer.send(b"x")
        held.append(consumer.receive(5_000))
        if len(held) > 5:
            consumer.acknowledge(held.pop(0))
        own = stats(broker, topic)["subscriptions"]["s"]
        backlogs.add(own["msgBacklog"])
        assert own.get("blockedSince") is None
        with urlopen(f"{broker.web_url}/metrics/") as answer:
            assert "magnetar_subscription_blocked{" not in answer.read().decode()
    assert {5, 6} & backlogs
    official.close()
