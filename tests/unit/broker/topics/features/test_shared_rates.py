"""Limits that topics share: a broker's, and a resource group's."""

import pytest
from support.clock import ManualClock
from support.loop import until
from unit.broker.topics.conftest import ClientEnd, run_of

from magnetar.broker.resource_groups import ResourceGroups
from magnetar.broker.resources import Resources
from magnetar.broker.topics.features.shared_rates import SharedRates
from magnetar.model.policies import Policies
from magnetar.model.policy_values import DispatchRate, PublishRate, ResourceGroup
from magnetar.model.subscriptions import SubscriptionType
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.tasks import Tasks

NONE, OFF = PublishRate(), DispatchRate()
GROUP = Policies(resource_group="g")


class World:
    def __init__(self, tasks):
        metadata = MemoryMetadataStore()
        self.clock = ManualClock()
        self.groups = ResourceGroups(
            metadata, Resources(metadata, codec=JsonCodec()), tasks, codec=JsonCodec()
        )

    def rates(self, publish=NONE, dispatch=OFF):
        return SharedRates(self.groups, self.clock, publish=publish, dispatch=dispatch)


@pytest.fixture
async def world():
    tasks = Tasks("test")
    made = World(tasks)
    yield made
    made.groups.close()
    await tasks.close()


def test_a_broker_without_limits_and_a_namespace_without_group_concern_nobody(world):
    rates = world.rates()
    assert not rates.concern(Policies())
    assert rates.publish(Policies()) == rates.dispatch(Policies()) == ()
    assert rates.concern(GROUP)
    assert world.rates(publish=PublishRate(1)).concern(Policies())
    assert world.rates(dispatch=DispatchRate(size_bytes=1)).concern(Policies())


async def test_a_group_is_followed(world):
    rates = world.rates(publish=PublishRate(5))
    broker, group = rates.publish(GROUP)
    assert (broker.name, group.name) == ("broker", "resource group g")
    assert rates.publish(GROUP)[1] is group, "all of its topics share one"
    assert not group, "nobody made it yet"
    await world.groups.put("g", ResourceGroup(publish_messages=7, dispatch_bytes=8))
    await until(lambda: bool(group))
    [dispatch] = rates.dispatch(GROUP)
    assert group.messages == 7
    assert dispatch.size_bytes == 8
    await world.groups.delete("g")
    await until(lambda: not group)
    assert not dispatch


async def test_topics_publish_together_what_the_broker_may_take(world, open_bench, make_entry):
    shared = world.rates(publish=PublishRate(10))
    ends = []
    for _ in range(2):
        bench = await open_bench(clock=world.clock, shared_rates=shared)
        ends.append(ClientEnd())
        producer = await bench.topic.attach_producer(ends[-1], 1, "p")
        producer.publish(run_of(*[make_entry("a")] * 6))
    assert [len(end.held_back_by) for end in ends] == [0, 1]


async def test_topics_deliver_together_what_a_group_may(world, open_bench):
    await world.groups.put("g", ResourceGroup(dispatch_messages=10))
    shared = world.rates()
    await until(lambda: bool(shared.dispatch(GROUP)[0]))
    ends = []
    for _ in range(2):
        bench = await open_bench(clock=world.clock, shared_rates=shared, resource_group="g")
        ends.append((await bench.consumer(SubscriptionType.SHARED))[0])
        await bench.publish(*["m"] * 8)
    assert [len(end.got()) for end in ends] == [8, 2]
    assert "resource group g" in str(bench.topic.subscriptions["s"].blocked_reason())
    await world.groups.put("g", ResourceGroup(dispatch_messages=1_000_000))
    await world.clock.advance(1)
    assert [len(end.got()) for end in ends] == [8, 8]
