import asyncio

import pytest

from magnetar.broker.policies import PolicyService
from magnetar.broker.settings.policies import PolicySettings
from magnetar.errors import InvalidValue, NamespaceNotFound
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.policies import Policies
from magnetar.model.policy_records import NamespacePolicies
from magnetar.model.policy_rows import Level
from magnetar.model.policy_values import RetentionPolicies
from magnetar.storage.codec.json_object import encode
from magnetar.storage.metadata import paths
from magnetar.tasks import Tasks

DEFAULT = NamespaceName("public", "default")
TOPIC = TopicName.parse("persistent://public/default/t")
ELSEWHERE = TopicName.parse("persistent://pulsar/system/t")


class Open:
    """An open topic that keeps the policies that were applied to it."""

    def __init__(self):
        self.applied = []
        self.changed = asyncio.Event()

    def apply(self, policies):
        self.applied.append(policies)
        self.changed.set()


class Broken:
    def apply(self, policies):
        raise RuntimeError("a defect")


@pytest.fixture
async def service(metadata, resources):
    tasks = Tasks("test")
    broker = PolicySettings(producers_per_topic_max=7).policies()
    service = PolicyService(resources, metadata, broker=broker, tasks=tasks)
    yield service
    service.close()
    await tasks.close()


async def test_a_namespace_is_stronger_than_the_broker_and_says_so(service):
    assert (await service.of(TOPIC)).producers_per_topic_max == 7
    await service.change(DEFAULT, producers_per_topic_max=1)
    combined = await service.combined(DEFAULT)
    assert combined.policies.producers_per_topic_max == 1
    assert combined.levels["producers_per_topic_max"] is Level.NAMESPACE
    assert combined.levels["retention"] is Level.BROKER
    assert (await service.of(ELSEWHERE)).producers_per_topic_max == 7
    await service.change(DEFAULT, producers_per_topic_max=None)
    assert (await service.of(TOPIC)).producers_per_topic_max == 7


async def test_all_topics_of_a_namespace_share_their_policies(service):
    other = TopicName.parse("persistent://public/default/other")
    assert await service.of(TOPIC) is await service.of(other)


async def test_a_change_is_in_force_when_it_is_answered(service):
    here, there = Open(), Open()
    service.govern({TOPIC: here, ELSEWHERE: there})
    await service.change(DEFAULT, producers_per_topic_max=1)
    assert [each.producers_per_topic_max for each in here.applied[-1:]] == [1]
    assert there.applied == []


async def test_many_changes_at_once_end_with_what_is_stored(service, resources):
    here = Open()
    service.govern({TOPIC: here})
    await asyncio.gather(
        *(service.change(DEFAULT, producers_per_topic_max=number) for number in range(9))
    )
    stored = (await resources.namespace(DEFAULT)).policies.producers_per_topic_max
    assert here.applied[-1].producers_per_topic_max == stored


async def test_what_another_process_changes_is_pushed_too(service, metadata):
    here = Open()
    service.govern({TOPIC: here})
    stored = NamespacePolicies.fresh("standalone").with_policies(producers_per_topic_max=3)
    await metadata.put(paths.namespace(DEFAULT), encode(stored.to_json()))
    await here.changed.wait()
    assert here.applied[-1].producers_per_topic_max == 3


async def test_a_namespace_that_is_gone_leaves_the_brokers_policies(service, metadata):
    here = Open()
    service.govern({TOPIC: here})
    await metadata.delete(paths.namespace(DEFAULT))
    await here.changed.wait()
    assert here.applied[-1].producers_per_topic_max == 7


async def test_one_topics_defect_keeps_the_change_from_no_other(service, caplog):
    here = Open()
    service.govern({TOPIC: Broken(), TopicName.parse("persistent://public/default/u"): here})
    await service.change(DEFAULT, producers_per_topic_max=1)
    assert len(here.applied) >= 1
    assert "policies.not_applied topic=persistent://public/default/t" in caplog.text


async def test_a_record_that_cannot_be_read_is_named_and_the_others_are_pushed(
    service, metadata, caplog
):
    here = Open()
    service.govern({TOPIC: here, ELSEWHERE: Open()})
    await metadata.put(paths.namespace(ELSEWHERE.namespace), b"damaged")
    await service.change(DEFAULT, producers_per_topic_max=1)
    assert here.applied[-1].producers_per_topic_max == 1
    assert "policies.unreadable of=pulsar/system" in caplog.text


async def test_what_cannot_be_is_refused_and_not_stored(service, resources):
    before = await resources.namespace(DEFAULT)
    with pytest.raises(InvalidValue, match="Setting a single time or size limit to 0"):
        await service.change(DEFAULT, retention=RetentionPolicies(0, 5))
    with pytest.raises(NamespaceNotFound):
        await service.change(NamespaceName("no", "no"), producers_per_topic_max=1)
    assert await resources.namespace(DEFAULT) == before


async def test_a_topic_that_opens_during_a_change_misses_nothing(service):
    """Whenever it asks, it is told then, or afterwards as one that is open."""
    topics: dict[TopicName, Open] = {}
    service.govern(topics)
    change = asyncio.ensure_future(service.change(DEFAULT, producers_per_topic_max=1))
    opened = []
    for number in range(20):
        name = TopicName.parse(f"persistent://public/default/t{number}")
        policies = await service.of(name)
        topics[name] = Open()
        topics[name].applied.append(policies)
        opened.append(topics[name])
        await asyncio.sleep(0)
    await change
    assert {each.applied[-1].producers_per_topic_max for each in opened} == {1}


async def test_a_namespace_nobody_made_has_the_brokers_policies(service):
    assert (await service.combined(NamespaceName("no", "no"))).policies == PolicySettings(
        producers_per_topic_max=7
    ).policies()
    assert Policies().given() == {}


PARTITION = TopicName.parse("persistent://public/default/p-partition-1")


async def test_a_topic_is_stronger_than_its_namespace(service):
    other = TopicName.parse("persistent://public/default/other")
    await service.change(DEFAULT, producers_per_topic_max=2, consumers_per_topic_max=2)
    await service.change_topic(TOPIC, producers_per_topic_max=3)
    combined = await service.combined_of(TOPIC)
    assert combined.policies.producers_per_topic_max == 3
    assert combined.levels["producers_per_topic_max"] is Level.TOPIC
    assert combined.policies.consumers_per_topic_max == 2
    assert await service.combined_of(other) is await service.combined(DEFAULT)
    await service.change_topic(TOPIC, producers_per_topic_max=None)
    assert (await service.of(TOPIC)).producers_per_topic_max == 2
    await service.change_topic(TOPIC, producers_per_topic_max=4)
    assert (await service.of(TOPIC)).producers_per_topic_max == 4


async def test_what_holds_in_this_cluster_is_stronger_than_what_holds_in_all(service):
    await service.change_topic(TOPIC, producers_per_topic_max=3)
    await service.change_topic(
        TOPIC, is_global=True, producers_per_topic_max=4, consumers_per_topic_max=5
    )
    policies = await service.of(TOPIC)
    assert (policies.producers_per_topic_max, policies.consumers_per_topic_max) == (3, 5)
    await service.forget(TOPIC)
    assert await service.combined_of(TOPIC) is await service.combined(DEFAULT)


async def test_a_change_of_a_topic_is_in_force_when_it_is_answered_and_only_there(
    service, resources
):
    await resources.create_partitioned_topic(PARTITION.partitioned_name, 2)
    here, there, partition = Open(), Open(), Open()
    other = TopicName.parse("persistent://public/default/other")
    service.govern({TOPIC: here, other: there, PARTITION: partition})
    await service.change_topic(TOPIC, producers_per_topic_max=3)
    assert [each.producers_per_topic_max for each in here.applied] == [3] * len(here.applied) != []
    assert there.applied == partition.applied == []
    await service.change_topic(PARTITION.partitioned_name, producers_per_topic_max=4)
    assert partition.applied[-1].producers_per_topic_max == 4
    assert there.applied == []


async def test_a_change_of_a_namespace_keeps_what_its_topics_set_themselves(service):
    here = Open()
    service.govern({TOPIC: here})
    await service.change_topic(TOPIC, producers_per_topic_max=3)
    await service.change(DEFAULT, producers_per_topic_max=2, consumers_per_topic_max=2)
    assert here.applied[-1].producers_per_topic_max == 3
    assert here.applied[-1].consumers_per_topic_max == 2


async def test_a_topics_policies_are_read_when_its_namespace_is_first_used(
    service, resources, metadata
):
    await service.change_topic(TOPIC, producers_per_topic_max=3)
    tasks = Tasks("test")
    later = PolicyService(resources, metadata, broker=Policies(), tasks=tasks)
    assert (await later.of(TOPIC)).producers_per_topic_max == 3
    switched_off = PolicyService(
        resources, metadata, broker=Policies(), tasks=tasks, topic_level=False
    )
    assert (await switched_off.of(TOPIC)).producers_per_topic_max is None
    later.close()
    switched_off.close()
    await tasks.close()


async def test_what_another_process_changes_for_a_topic_is_pushed_too(service, metadata):
    here = Open()
    service.govern({TOPIC: here})
    assert (await service.of(TOPIC)).producers_per_topic_max == 7
    await metadata.put(paths.topic_policies(paths.LOCAL, TOPIC), encode({"maxProducerPerTopic": 3}))
    await here.changed.wait()
    assert here.applied[-1].producers_per_topic_max == 3


async def test_a_topic_in_a_deleted_namespace_leaves_nothing_behind(service, resources, metadata):
    await resources.create_namespace(NamespaceName("public", "n"), NamespacePolicies.fresh("c"))
    topic = TopicName.parse("persistent://public/n/t")
    await service.change_topic(topic, producers_per_topic_max=3)
    await resources.delete_namespace(topic.namespace)
    assert await metadata.get(paths.topic_policies(paths.LOCAL, topic)) is None
