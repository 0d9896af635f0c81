import pytest

from magnetar.broker.admin.fanout import PARTITIONS_AT_ONCE_MAX
from magnetar.broker.admin.owners import Owners
from magnetar.errors import AlreadyExists, Conflict, TopicNotFound
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST

TOPIC = TopicName.parse("persistent://public/default/p")


@pytest.fixture
def fanout(world):
    return world.admin.topics.fanout


async def made(world) -> list[str]:
    return [topic.local for topic in await world.resources.topics(TOPIC.namespace)]


async def test_every_partition_is_made(world, fanout):
    await fanout.create(TOPIC, 3, {"a": "b"})
    assert await made(world) == ["p-partition-0", "p-partition-1", "p-partition-2"]
    with pytest.raises(AlreadyExists):
        await fanout.create(TOPIC, 3)


async def test_partitions_are_made_without_a_request_each(world, fanout, monkeypatch):
    asked, make = [], fanout._owners.access.make

    async def ask(subject, request):
        asked.append(subject)
        return await Owners.ask(fanout._owners, subject, request)

    async def without_the_last(names):
        return [*await make(names[:-1]), names[-1]]

    monkeypatch.setattr(fanout._owners, "ask", ask)
    await fanout.create(TOPIC, PARTITIONS_AT_ONCE_MAX + 3)
    assert len(await made(world)) == PARTITIONS_AT_ONCE_MAX + 3
    assert not asked
    monkeypatch.setattr(fanout._owners.access, "make", without_the_last)
    await fanout.grow(TOPIC, PARTITIONS_AT_ONCE_MAX + 6)
    assert len(await made(world)) == PARTITIONS_AT_ONCE_MAX + 6
    assert asked == [TOPIC.partition(0), TOPIC.partition(PARTITIONS_AT_ONCE_MAX + 5)]


async def test_partitions_are_deleted_side_by_side(world, fanout, monkeypatch):
    """What is asked at a time shares the syncs of the metadata store."""
    under_way, most = 0, []
    ask = fanout._owners.ask

    async def counted(subject, request):
        nonlocal under_way
        under_way += 1
        most.append(under_way)
        try:
            return await ask(subject, request)
        finally:
            under_way -= 1

    await fanout.create(TOPIC, PARTITIONS_AT_ONCE_MAX + 3)
    monkeypatch.setattr(fanout._owners, "ask", counted)
    await fanout.delete(TOPIC, force=True)
    assert await made(world) == []
    assert len(most) == PARTITIONS_AT_ONCE_MAX + 3
    assert max(most) == PARTITIONS_AT_ONCE_MAX


async def test_growing_adds_what_is_missing_with_the_first_one_s_durable_subscriptions(
    world, fanout
):
    await fanout.create(TOPIC, 1)
    first = await world.topic(str(TOPIC.partition(0)))
    await first.create_subscription("kept", EARLIEST, {"k": "v"})
    first.ledger.open_reader("reader", EARLIEST)
    await fanout.grow(TOPIC, 3)
    assert len(await made(world)) == 3
    last = await world.topic(str(TOPIC.partition(2)))
    assert list(last.subscriptions) == ["kept"]
    assert last.subscriptions["kept"].cursor.properties == {"k": "v"}
    with pytest.raises(Conflict):
        await fanout.grow(TopicName.parse("persistent://public/default/none"), 2)


async def test_growing_needs_no_first_partition(world, fanout):
    await world.resources.create_partitioned_topic(TOPIC, 1)
    await fanout.grow(TOPIC, 2)
    assert await made(world) == ["p-partition-1"]


async def test_deletion_takes_the_record_last(world, fanout):
    await fanout.create(TOPIC, 2)
    await fanout.delete(TOPIC, force=False)
    assert await made(world) == []
    assert await world.resources.partitions(TOPIC) == 0
    with pytest.raises(TopicNotFound):
        await fanout.delete(TOPIC, force=False)
