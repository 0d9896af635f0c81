import asyncio

import pytest

from magnetar.broker.admin.topic_access import no_subscription
from magnetar.broker.topics.log.deletions import Deletions
from magnetar.errors import NamespaceNotFound, TopicNotFound, WriteFailed
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.metadata import paths

BASE = TopicName.parse("persistent://public/default/p")


@pytest.fixture
def access(world):
    return world.admin.topics.owners.access


async def test_an_existing_topic_is_opened_and_served_here(world, access):
    await world.topic(str(BASE))
    await world.registry.unload(BASE)
    bundle = await world.resources.bundle(BASE)
    await world.registry.unload_bundle(bundle)
    assert not world.admin.topics.owners.ownership.owns(bundle)
    assert (await access.open(BASE)).name == BASE
    assert world.admin.topics.owners.ownership.owns(bundle)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("x", "Topic {} not found"),
        ("p", "Topic {} not found"),
        ("p-partition-1", "Topic partitions were not yet created"),
        ("p-partition-9", "Topic partitions were not yet created"),
        ("z-partition-0", "Partitioned Topic not found: {} has zero partitions"),
    ],
)
async def test_each_kind_of_missing_topic_is_told_apart(world, access, name, words):
    await world.resources.create_partitioned_topic(BASE, 2)
    topic = TopicName.parse(f"persistent://public/default/{name}")
    with pytest.raises(TopicNotFound) as missing:
        await access.open(topic)
    assert str(missing.value) == words.format(topic)


async def test_the_namespace_is_missed_first_unless_the_topic_is_asked_for_anywhere(access):
    nowhere = TopicName.parse("persistent://public/nowhere/x")
    with pytest.raises(NamespaceNotFound):
        await access.open(nowhere)
    with pytest.raises(TopicNotFound):
        await access.open_anywhere(nowhere)


async def test_partitions_are_known_before_they_are_created(world, access):
    await world.resources.create_partitioned_topic(BASE, 2)
    assert await access.partitions(BASE) == [BASE.partition(0), BASE.partition(1)]
    assert await access.created_partitions(BASE) == []
    await access.create(BASE.partition(1))
    assert await access.created_partitions(BASE) == [BASE.partition(1)]
    assert await access.partitions(BASE.partition(0)) == []


async def test_new_topics_are_made_without_a_look_at_each(world, access, monkeypatch):
    looked, get = [], world.metadata.get

    async def noted(path):
        looked.append(path)
        return await get(path)

    await world.resources.create_partitioned_topic(BASE, 2)
    monkeypatch.setattr(world.metadata, "get", noted)
    names = list(map(BASE.partition, range(3)))
    assert await access.make(names) == [names[2]]  # It is no partition of its topic.
    assert set(names[:2]) <= set(world.registry.loaded)
    assert not [path for path in looked if path.startswith(("/managed-ledgers", paths.DELETIONS))]


async def test_a_partition_that_cannot_be_made_keeps_no_other_from_it(world, access, monkeypatch):
    names = list(map(BASE.partition, range(3)))
    put = world.metadata.put

    async def full(path, *arguments, **named):
        if path.endswith(names[1].local):
            raise WriteFailed("the disk is full")
        return await put(path, *arguments, **named)

    await world.resources.create_partitioned_topic(BASE, 3)
    with monkeypatch.context() as patched:
        patched.setattr(world.metadata, "put", full)
        assert await access.make(names) == [names[1]]
    assert await access.created_partitions(BASE) == [names[0], names[2]]
    assert await access.make(names) == []
    assert await access.created_partitions(BASE) == names


async def test_a_partition_that_a_client_opens_meanwhile_is_opened_once(world, access):
    names = list(map(BASE.partition, range(2)))
    await world.resources.create_partitioned_topic(BASE, 2)
    await world.registry.serve(names[0])
    opened, refused = await asyncio.gather(
        world.registry.get(names[0], create=True), access.make(names)
    )
    assert names[1] not in refused
    assert await access.create(names[0]) is opened


async def test_what_was_stored_of_a_topic_that_should_be_new_is_kept(world, access):
    names = _, half_deleted = BASE.partition(0), BASE.partition(1)
    await world.resources.create_partitioned_topic(BASE, 2)
    for name in names:
        topic = await access.create(name)
        await topic.create_subscription("kept", EARLIEST, {})
        await world.registry.unload(name)
    await Deletions(world.metadata, codec=JsonCodec()).begin(half_deleted)
    assert await access.make(names) == []
    assert await world.metadata.children(paths.DELETIONS) == []
    for again in range(2):
        made = world.registry.loaded
        assert [*map(list, (made[name].subscriptions for name in names))] == [["kept"], []], again
        for name in names:
            await world.registry.unload(name)
            await access.open(name)


def test_a_missing_subscription_is_told_in_pulsar_s_words():
    words = "Subscription s not found for topic persistent://public/default/p"
    assert str(no_subscription("s", BASE)) == words
