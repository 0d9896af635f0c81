import pytest
from unit.broker.admin.world import SilentEnd

from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.errors import CorruptEntry
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger

ALL = "/admin/v2/persistent/public/default"
NAME = "persistent://public/default/x"


async def test_stats_count_what_is_stored_and_who_is_there(world):
    await world.publish(NAME, 1, 2, 3)
    await world.ask("PUT", f"{ALL}/x/subscription/s", "earliest")
    topic = await world.topic(NAME)
    await topic.attach_producer(SilentEnd("10.0.0.1:5"), 7, "p", metadata={"k": "v"})
    shown = (await world.ask("GET", f"{ALL}/x/stats")).json
    assert shown["storageSize"] == topic.ledger.size_bytes > 0
    assert shown["subscriptions"]["s"]["msgBacklog"] == 3
    assert shown["ownerBroker"] == "localhost:8080"
    [publisher] = shown["publishers"]
    assert (publisher["producerName"], publisher["address"]) == ("p", "/10.0.0.1:5")
    assert publisher["metadata"] == {"k": "v"}


async def test_a_backlog_is_shown_in_bytes(world):
    """By the average entry, from the mark on: a hole behind it changes nothing, as in Pulsar."""
    positions = await world.publish(NAME, *range(10))
    for name in ("all", "some", "none", "hole"):
        await world.ask("PUT", f"{ALL}/x/subscription/{name}", "earliest")
    await world.ask("POST", f"{ALL}/x/subscription/some/skip/6")
    await world.ask("POST", f"{ALL}/x/subscription/none/skip_all")
    topic = await world.topic(NAME)
    beyond = [position.entry_id for position in positions[3:]]
    topic.subscriptions["hole"].cursor.acknowledge_entries(positions[0].ledger_id, beyond)
    shown = (await world.ask("GET", f"{ALL}/x/stats")).json
    stored = shown["storageSize"]
    sizes = {name: each["backlogSize"] for name, each in shown["subscriptions"].items()}
    assert sizes == {"all": stored, "some": stored * 4 // 10, "none": 0, "hole": stored}
    assert shown["backlogSize"] == stored
    await world.ask("DELETE", f"{ALL}/x/subscription/all")
    await world.ask("DELETE", f"{ALL}/x/subscription/hole")
    shown = (await world.ask("GET", f"{ALL}/x/stats?subscriptionBacklogSize=false")).json
    assert shown["backlogSize"] == stored * 4 // 10
    assert shown["subscriptions"]["some"]["backlogSize"] == -1
    await world.ask("DELETE", f"{ALL}/x/subscription/some")
    assert (await world.ask("GET", f"{ALL}/x/stats")).json["backlogSize"] == 0


async def test_rates_come_from_the_book(world):
    topic = await world.topic(NAME)
    book = world.admin.metrics.rates
    book.tick(NAME, topic_stats(topic), 0.0)
    topic.writer.message_count, topic.writer.size_bytes = 600, 6000
    book.tick(NAME, topic_stats(topic), 60.0)
    shown = (await world.ask("GET", f"{ALL}/x/stats")).json
    assert (shown["msgRateIn"], shown["msgThroughputIn"], shown["averageMsgSize"]) == (10, 100, 10)


async def test_a_partitioned_topic_s_stats_are_the_sum_of_those_created(world):
    await world.ask("PUT", f"{ALL}/p/partitions", 3)
    await world.ask("DELETE", f"{ALL}/p-partition-2")
    for index, count in enumerate((1, 2)):
        await world.publish(f"persistent://public/default/p-partition-{index}", *range(count))
        await world.ask("PUT", f"{ALL}/p-partition-{index}/subscription/s", "earliest")
    shown = (await world.ask("GET", f"{ALL}/p/partitioned-stats")).json
    assert shown["subscriptions"]["s"]["msgBacklog"] == 3
    assert shown["metadata"]["partitions"] == 3
    backlogs = {
        name: each["subscriptions"]["s"]["msgBacklog"] for name, each in shown["partitions"].items()
    }
    assert backlogs == {
        "persistent://public/default/p-partition-0": 1,
        "persistent://public/default/p-partition-1": 2,
    }
    brief = (await world.ask("GET", f"{ALL}/p/partitioned-stats?perPartition=false")).json
    assert brief["partitions"] == {}
    assert brief["subscriptions"] == shown["subscriptions"]


async def test_the_oldest_of_a_backlog_is_shown_when_it_is_asked_for(world):
    """-1: all is acknowledged; 0: nobody asked."""
    await world.ask("PUT", f"{ALL}/p/partitions", 2)
    for index, times_ms in enumerate([(30, 40), (20, 50)]):
        await world.publish(f"persistent://public/default/p-partition-{index}", *times_ms)
        for name in ("all", "some", "none"):
            await world.ask("PUT", f"{ALL}/p-partition-{index}/subscription/{name}", "earliest")
        await world.ask("POST", f"{ALL}/p-partition-{index}/subscription/some/skip/1")
        await world.ask("POST", f"{ALL}/p-partition-{index}/subscription/none/skip_all")

    async def oldest(path):
        shown = (await world.ask("GET", f"{ALL}/{path}")).json
        each = shown["subscriptions"].items()
        found = {name: s["earliestMsgPublishTimeInBacklog"] for name, s in each}
        return shown["earliestMsgPublishTimeInBacklogs"], found

    asked = "getEarliestTimeInBacklog=true"
    assert await oldest(f"p-partition-0/stats?{asked}") == (
        30,
        {"all": 30, "some": 40, "none": -1},
    )
    assert await oldest(f"p/partitioned-stats?{asked}") == (
        20,
        {"all": 20, "some": 40, "none": -1},
    )
    assert await oldest("p-partition-0/stats") == (0, {"all": 0, "some": 0, "none": 0})


async def test_the_age_of_a_backlog_is_that_of_its_oldest_message_and_says_whose_it_is(world):
    await world.ask("PUT", f"{ALL}/p/partitions", 2)
    now = world.admin.topics.clock.wall_ms()
    for index, age_s in enumerate((500, 900)):
        name = f"p-partition-{index}"
        times_ms = [now - age_s * 1000, now - 100_000]
        await world.publish(f"persistent://public/default/{name}", *times_ms)
        for subscription in ("fast", "slow"):
            await world.ask("PUT", f"{ALL}/{name}/subscription/{subscription}", "earliest")
        await world.ask("POST", f"{ALL}/{name}/subscription/fast/skip/1")

    async def oldest(path):
        shown = (await world.ask("GET", f"{ALL}/{path}")).json
        whose = shown.get("oldestBacklogMessageSubscriptionName")
        return shown["oldestBacklogMessageAgeSeconds"], whose

    def about(age_s, whose):
        return pytest.approx(age_s, abs=5), whose

    assert await oldest("p-partition-0/stats") == about(500, "slow")
    assert await oldest("p/partitioned-stats") == about(900, "slow")
    for index in range(2):
        await world.ask("DELETE", f"{ALL}/p-partition-{index}/subscription/slow")
    assert await oldest("p-partition-1/stats") == about(100, "fast")
    for index in range(2):
        await world.ask("POST", f"{ALL}/p-partition-{index}/subscription/fast/skip_all")
    assert await oldest("p-partition-0/stats") == (-1, None)
    assert await oldest("p/partitioned-stats") == (0, None)


async def test_a_backlog_s_age_is_never_negative(world):
    """Its publisher's clock may be wrong."""
    await world.publish(NAME, world.admin.topics.clock.wall_ms() + 1_000_000)
    await world.ask("PUT", f"{ALL}/x/subscription/s", "earliest")
    shown = (await world.ask("GET", f"{ALL}/x/stats")).json
    assert shown["oldestBacklogMessageAgeSeconds"] == 0


async def test_stats_are_shown_where_the_oldest_message_cannot_be_read(world, monkeypatch):
    await world.publish(NAME, 1)
    await world.ask("PUT", f"{ALL}/x/subscription/s", "earliest")

    async def fails(*_):
        raise CorruptEntry("a damaged block")

    monkeypatch.setattr(ManagedLedger, "read", fails)
    shown = (await world.ask("GET", f"{ALL}/x/stats")).json
    assert shown["subscriptions"]["s"]["msgBacklog"] == 1
    assert shown["oldestBacklogMessageAgeSeconds"] == -1


async def test_the_reason_for_a_backlog_is_shown_and_a_sum_has_one_of_them(world):
    await world.ask("PUT", f"{ALL}/p/partitions", 2)
    await world.publish("persistent://public/default/p-partition-1", 1)
    for index in range(2):
        await world.ask("PUT", f"{ALL}/p-partition-{index}/subscription/s", "earliest")
    shown = (await world.ask("GET", f"{ALL}/p/partitioned-stats")).json
    reasons = [each["subscriptions"]["s"] for each in shown["partitions"].values()]
    assert [each.get("blockedReason") for each in reasons] == [None, "no consumer is connected"]
    assert shown["subscriptions"]["s"]["blockedReason"] == "no consumer is connected"


async def test_internal_stats_show_the_log(world):
    [*_, (ledger_id, last)] = await world.publish(NAME, 1, 2, 3)
    shown = (await world.ask("GET", f"{ALL}/x/internalStats")).json
    assert shown["lastConfirmedEntry"] == f"{ledger_id}:{last}"
    assert shown["numberOfEntries"] == 3


async def test_the_last_message_is_the_last_of_its_batch(world):
    [(ledger_id, _), (_, last)] = await world.publish(NAME, 1, batches=[8])
    assert (await world.ask("GET", f"{ALL}/x/lastMessageId")).json == {
        "ledgerId": ledger_id,
        "entryId": last,
        "partitionIndex": -1,
        "batchIndex": 7,
        "batchSize": 0,
        "originalBatchSize": 0,
        "outstandingAcksInSameBatch": 0,
    }


async def test_the_last_message_of_a_partition_names_it(world):
    await world.ask("PUT", f"{ALL}/p/partitions", 2)
    await world.publish("persistent://public/default/p-partition-1", 1)
    shown = (await world.ask("GET", f"{ALL}/p-partition-1/lastMessageId")).json
    assert (shown["partitionIndex"], shown["batchIndex"]) == (1, -1)


async def test_an_empty_topic_has_no_last_message(world):
    await world.topic(NAME)
    assert (await world.ask("GET", f"{ALL}/x/lastMessageId")).json["entryId"] == -1
