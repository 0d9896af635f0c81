import asyncio

import pytest
from support.clock import ManualClock
from support.loop import until

from magnetar.broker.change_events.event import Event, EventKey
from magnetar.broker.change_events.event_logs import Events
from magnetar.broker.change_events.topic_policies import (
    AGAIN_S,
    ATTEMPTS_MAX,
    EventTopicPolicies,
)
from magnetar.errors import Conflict, CorruptEntry, NotReady
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.position import EARLIEST, Position
from magnetar.model.system_topics import change_events
from magnetar.storage.metadata import paths
from magnetar.tasks import Tasks

DEFAULT = NamespaceName("public", "default")
NAME = change_events(DEFAULT)
A, B = (TopicName.parse(f"persistent://public/default/{name}") for name in "ab")


class Owners:
    """The owner of the topic of events, which keeps them in a list."""

    def __init__(self, metadata):
        self.metadata = metadata
        self.events = []
        self.asked = 0
        self.away = False
        self.taken = True

    def add(self, topic, policies, *, is_global=False):
        key = EventKey(topic, is_global)
        self.events.append(Event(key, Position(0, len(self.events)), policies))

    async def tell(self):
        await self.metadata.put(paths.change_events(NAME), b"%d" % len(self.events))

    async def since(self, name, after):
        self.asked += 1
        if self.away:
            raise NotReady("away")
        newest = {each.key: each for each in self.events if after is None or each.position > after}
        last = Position(0, len(self.events) - 1)
        return Events(last, after is None, list(newest.values()))

    async def put(self, name, key, policies, instead_of):
        if self.taken:
            self.add(key.topic, policies, is_global=key.is_global)
        return self.taken


@pytest.fixture
async def owners(metadata):
    """The topic is there."""
    await metadata.put(paths.managed_ledger(paths.managed_ledger_name(NAME)), b"")
    return Owners(metadata)


@pytest.fixture
async def clock():
    return ManualClock()


@pytest.fixture
async def policies(resources, metadata, owners, clock):
    tasks = Tasks("test")
    policies = EventTopicPolicies(resources, metadata, clock, tasks)
    policies.start(owners)
    policies.told = []
    watch = policies.watch(policies.told.append)
    yield policies
    watch.cancel()
    await tasks.close()


async def test_nothing_is_asked_where_the_topic_is_not_there(policies, metadata, owners):
    await metadata.delete(paths.managed_ledger(paths.managed_ledger_name(NAME)))
    assert not await policies.topics(DEFAULT)
    assert await policies.get(A) is None
    assert not owners.asked


async def test_the_owner_is_asked_once_and_again_when_there_is_more(policies, owners):
    owners.add(A, {"maxProducerPerTopic": 3})
    owners.add(A, {"maxProducerPerTopic": 4}, is_global=True)
    assert await policies.topics(DEFAULT) == {A}
    assert (await policies.get(A)).producers_per_topic_max == 3
    assert (await policies.get(A, is_global=True)).producers_per_topic_max == 4
    assert await policies.get(B) is None
    assert (owners.asked, policies.told) == (1, [])
    owners.add(B, {"maxProducerPerTopic": 5})
    owners.add(A, None)
    await owners.tell()
    await until(lambda: policies.told)
    assert policies.told == [{A, B}]
    assert await policies.get(A) is None
    assert (await policies.get(B)).producers_per_topic_max == 5
    assert owners.asked == 2


async def test_an_owner_that_does_not_answer_is_asked_again(policies, owners, clock):
    await policies.topics(DEFAULT)
    owners.add(A, {"maxProducerPerTopic": 3})
    owners.away = True
    await owners.tell()
    await clock.until_asleep()
    with pytest.raises(NotReady):
        await policies.get(A)
    owners.away = False
    await clock.advance(AGAIN_S)
    assert policies.told == [{A}]
    assert (await policies.get(A)).producers_per_topic_max == 3


async def test_who_asks_while_it_is_read_waits_for_the_same(policies, owners):
    owners.add(A, {"maxProducerPerTopic": 3})
    found = await asyncio.gather(*(policies.get(A) for _ in range(5)))
    assert [each.producers_per_topic_max for each in found] == [3] * 5
    assert owners.asked == 1


async def test_a_change_leaves_what_it_does_not_change(policies, owners):
    owners.add(A, {"maxProducerPerTopic": 3, "newOne": "kept"})
    await policies.change(A, is_global=False, consumers_per_topic_max=7)
    assert owners.events[-1].policies == {
        "maxProducerPerTopic": 3,
        "maxConsumerPerTopic": 7,
        "newOne": "kept",
    }
    assert (await policies.get(A)).consumers_per_topic_max == 7
    await policies.delete(A)
    await policies.delete(B)
    assert owners.events[-1].policies is None
    assert await policies.get(A) is None


async def test_a_change_gives_up_against_others_without_end(policies, owners):
    owners.taken = False
    with pytest.raises(Conflict):
        await policies.change(A, is_global=False, consumers_per_topic_max=7)
    assert owners.asked == ATTEMPTS_MAX


async def test_policies_that_cannot_be_read_keep_their_topic_closed(policies, owners):
    owners.add(A, {"maxProducerPerTopic": "many"})
    with pytest.raises(CorruptEntry, match="persistent://public/default/a"):
        await policies.get(A)
    assert await policies.get(B) is None


async def test_events_that_go_with_their_topic_are_told(policies, owners, metadata):
    owners.add(A, {"maxProducerPerTopic": 3})
    await owners.tell()
    assert await policies.topics(DEFAULT) == {A}
    await metadata.delete(paths.managed_ledger(paths.managed_ledger_name(NAME)))
    await metadata.delete(paths.change_events(NAME))
    await until(lambda: policies.told)
    assert policies.told == [{A}]
    assert not await policies.topics(DEFAULT)


@pytest.mark.usefixtures("owners")
async def test_before_the_broker_serves_nobody_knows(resources, metadata, clock):
    tasks = Tasks("test")
    policies = EventTopicPolicies(resources, metadata, clock, tasks)
    with pytest.raises(NotReady):
        await policies.get(A)
    await tasks.close()


def test_a_namespace_is_known_by_the_record_of_its_events():
    assert paths.change_events_at(paths.change_events(NAME.partition(2))) == DEFAULT
    assert paths.change_events_at(paths.CHANGE_EVENTS) is None
    assert Position(0, 0) > EARLIEST
