import pytest

from magnetar.broker.admin.topic_access import no_subscription
from magnetar.errors import NamespaceNotFound, TopicNotFound
from magnetar.model.names import TopicName

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


def test_a_missing_subscription_is_told_in_pulsar_s_words():
    words = "Subscription s not found for topic persistent://public/default/p"
    assert str(no_subscription("s", BASE)) == words
