import asyncio

import pytest
from unit.broker.admin.world import SilentEnd, open_world

from magnetar.broker.settings.policies import PolicySettings
from magnetar.model.names import TopicName
from magnetar.storage.metadata import paths

ALL = "/admin/v2/persistent/public/default"


@pytest.fixture
async def partitioning_world():
    """Where a client that asks for a topic gets one with two partitions; three are the most."""
    async with open_world(
        PolicySettings(auto_topic_kind="partitioned", auto_partitions=2, partitions_max=3)
    ) as opened:
        yield opened


def name(local: str) -> str:
    return f"persistent://public/default/{local}"


async def names(world) -> list[str]:
    return [text.rpartition("/")[2] for text in (await world.ask("GET", ALL)).json]


@pytest.mark.parametrize("local", ["x", "dir%2Ffile%20x", "%C3%A4", "partitioned", "a%252Fb"])
async def test_a_topic_of_any_name_comes_and_goes(world, local):
    one = f"{ALL}/{local}"
    assert (await world.ask("PUT", one)).status == 204
    assert (await world.ask("GET", f"{one}/stats")).status == 200
    assert (await world.ask("PUT", one)).reason == "This topic already exists"
    assert (await world.ask("DELETE", one)).status == 204
    assert (await world.ask("GET", f"{one}/stats")).status == 404
    assert (await world.ask("GET", ALL)).json == []


async def test_properties_of_what_keeps_nothing_are_refused_rather_than_lost(world):
    where = ALL.replace("/persistent/", "/non-persistent/")
    answer = await world.ask("PUT", f"{where}/x", {"owner": "me"})
    assert answer.status == 405
    assert "properties" in answer.reason
    assert (await world.ask("GET", where)).json == []


async def test_a_partition_beyond_the_count_cannot_be_made(world):
    await world.ask("PUT", f"{ALL}/p/partitions", 2)
    assert (await world.ask("PUT", f"{ALL}/p-partition-2")).status == 412
    assert (await world.ask("PUT", f"{ALL}/p-partition-1")).status == 409
    await world.ask("DELETE", f"{ALL}/p-partition-1")
    assert (await world.ask("PUT", f"{ALL}/p-partition-1")).status == 204


async def test_a_busy_topic_is_deleted_only_by_force(world):
    topic = await world.topic(name("x"))
    end = SilentEnd()
    await topic.attach_producer(end, 1, "p")
    answer = await world.ask("DELETE", f"{ALL}/x")
    assert (answer.status, answer.reason) == (412, "Topic has 1 connected producers/consumers")
    assert (await world.ask("DELETE", f"{ALL}/x?force=true")).status == 204
    assert end.closed == [("producer", 1)]
    assert await names(world) == []


async def test_an_unloaded_topic_lets_go_of_its_clients_and_is_there_again(world):
    topic = await world.topic(name("x"))
    end = SilentEnd()
    await topic.attach_producer(end, 1, "p")
    assert (await world.ask("PUT", f"{ALL}/x/unload")).status == 204
    assert end.closed == [("producer", 1)]
    assert TopicName.parse(name("x")) not in world.registry.loaded
    assert (await world.ask("GET", f"{ALL}/x/stats")).status == 200


async def test_all_partitions_are_made_grown_unloaded_and_deleted(world):
    parts = f"{ALL}/p/partitions"
    assert (await world.ask("PUT", parts, 2)).status == 204
    assert await names(world) == ["p-partition-0", "p-partition-1"]
    assert (await world.ask("POST", parts, 3)).status == 204
    assert len(await names(world)) == 3
    assert (await world.ask("PUT", f"{ALL}/p/unload")).status == 204
    assert world.registry.loaded == {}
    assert (await world.ask("DELETE", parts)).status == 204
    assert await names(world) == []
    assert (await world.ask("GET", f"{ALL}/partitioned")).json == []


async def test_new_partitions_have_the_subscriptions_of_the_first(world):
    await world.ask("PUT", f"{ALL}/p/partitions", 1)
    place = {"ledgerId": -1, "entryId": -1, "properties": {"k": "v"}}
    await world.ask("PUT", f"{ALL}/p/subscription/s", place)
    await world.ask("POST", f"{ALL}/p/partitions", 2)
    stats = (await world.ask("GET", f"{ALL}/p-partition-1/stats")).json
    assert stats["subscriptions"]["s"]["subscriptionProperties"] == {"k": "v"}


async def test_one_busy_partition_keeps_all(world):
    await world.ask("PUT", f"{ALL}/p/partitions", 2)
    partition = await world.topic(name("p-partition-1"))
    await partition.attach_producer(SilentEnd(), 1, "p")
    answer = await world.ask("DELETE", f"{ALL}/p/partitions")
    assert (answer.status, answer.reason) == (412, "Topic has active producers/subscriptions")
    assert len(await names(world)) == 2
    assert (await world.ask("DELETE", f"{ALL}/p/partitions?force=true")).status == 204
    assert await names(world) == []


async def test_deletion_of_partitions_can_be_done_again_after_it_was_cut_short(world):
    await world.ask("PUT", f"{ALL}/p/partitions", 3)
    await world.ask("DELETE", f"{ALL}/p-partition-0")
    assert (await world.ask("DELETE", f"{ALL}/p/partitions")).status == 204


async def test_asking_makes_a_partitioned_topic_where_clients_make_such(partitioning_world):
    world = partitioning_world
    parts = f"{ALL}/p/partitions"
    assert (await world.ask("GET", parts)).status == 404
    asked = f"{parts}?checkAllowAutoCreation=true"
    assert (await world.ask("GET", asked)).json == {"partitions": 2, "deleted": False}
    assert await names(world) == []  # Who first uses a partition makes it.
    like = f"{ALL}/p-partition-7/partitions?checkAllowAutoCreation=true"
    assert (await world.ask("GET", like)).status == 404


async def test_many_may_ask_at_once(partitioning_world):
    asked = f"{ALL}/p/partitions?checkAllowAutoCreation=true"
    asking = (partitioning_world.ask("GET", asked) for _ in range(5))
    answers = await asyncio.gather(*asking)
    assert [answer.json["partitions"] for answer in answers] == [2] * 5


async def test_there_is_a_most_of_partitions(partitioning_world):
    world = partitioning_world
    answer = await world.ask("PUT", f"{ALL}/p/partitions", 4)
    assert answer.status == 406
    assert answer.reason == "Number of partitions should be less than or equal to 3"
    assert (await world.ask("PUT", f"{ALL}/p/partitions", 3)).status == 204
    assert (await world.ask("POST", f"{ALL}/p/partitions", 4)).status == 422


async def test_partitions_come_with_properties(world):
    kind = "application/vnd.partitioned-topic-metadata+json"
    body = {"partitions": 2, "properties": {"a": "b"}}
    await world.ask("PUT", f"{ALL}/p/partitions", body, **{"Content-Type": kind})
    shown = (await world.ask("GET", f"{ALL}/p/partitions")).json
    assert shown == {"partitions": 2, "deleted": False, "properties": {"a": "b"}}


async def test_a_list_can_be_of_one_bundle(world):
    await world.topic(name("PkPaboE"))  # The first hash there is.
    await world.topic(name("ME6ajal"))  # The last.
    lists = {
        bundle: (await world.ask("GET", f"{ALL}?bundle={bundle}")).json
        for bundle in ("0x00000000_0x40000000", "0xc0000000_0xffffffff", "zzz")
    }
    assert list(lists.values()) == [[name("PkPaboE")], [name("ME6ajal")], []]


@pytest.mark.parametrize("path", [ALL, f"{ALL}/x", f"{ALL}/x/stats"])
async def test_there_are_no_other_domains(world, path):
    await world.topic(name("x"))
    answer = await world.ask("GET", path.replace("persistent", "immortal"))
    assert answer.status == 404
    assert "docs/admin.md" in answer.reason


@pytest.mark.parametrize(
    "path",
    [
        "public/default/__change_events",
        "public/default/__transaction_buffer_snapshot",
        "public/default/t-s__transaction_pending_ack",
        "pulsar/system/__transaction_log_0",
    ],
)
async def test_system_topics_are_made_by_brokers_alone(world, path):
    for one, body in ((path, None), (f"{path}/partitions", 3)):
        refused = await world.ask("PUT", f"/admin/v2/persistent/{one}", body)
        assert refused.status == 400
        assert refused.reason.startswith("Cannot create topic in system topic format!")


async def test_system_topics_are_listed_for_who_asks(world):
    hidden, shown = "persistent://public/default/__change_events", "persistent://public/default/t"
    await world.topic(shown)
    path = paths.managed_ledger_name(TopicName.parse(hidden))
    await world.metadata.put(paths.managed_ledger(path), b"{}")
    await world.ask("PUT", "/admin/v2/persistent/pulsar/system/mine/partitions", 1)
    for one in ("namespaces/public/default/topics", "persistent/public/default"):
        assert (await world.ask("GET", f"/admin/v2/{one}")).json == [shown]
        everything = await world.ask("GET", f"/admin/v2/{one}?includeSystemTopic=true")
        assert everything.json == [hidden, shown]
    one = "/admin/v2/persistent/pulsar/system/partitioned"
    assert (await world.ask("GET", one)).json == []
    everything = await world.ask("GET", f"{one}?includeSystemTopic=true")
    assert everything.json == ["persistent://pulsar/system/mine"]
