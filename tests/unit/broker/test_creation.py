import asyncio

import pytest

from magnetar.broker.creation import PARTITIONS_MAX, Creation
from magnetar.broker.policies import PolicyService
from magnetar.broker.resources import Resources
from magnetar.broker.settings.policies import PolicySettings
from magnetar.errors import (
    AlreadyExists,
    Conflict,
    InvalidName,
    InvalidValue,
    LimitReached,
    NamespaceNotFound,
    NotAllowed,
    TopicNotFound,
)
from magnetar.model.names import TopicName
from magnetar.model.policy_values import AutoTopicCreationOverride
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.tasks import Tasks


def topic(local):
    return TopicName.parse(f"persistent://public/default/{local}")


class Made:
    """The rules, and a metadata store with the topics that they admitted."""

    def __init__(self, **settings):
        self.metadata = MemoryMetadataStore()
        self.resources = Resources(self.metadata, codec=JsonCodec())
        self.tasks = Tasks("test")
        asked = PolicySettings(**settings)
        self.policies = PolicyService(
            self.resources, self.metadata, broker=asked.policies(), tasks=self.tasks
        )
        self.rules = Creation(self.resources, self.policies, partitions_max=asked.partitions_max)

    async def make(self, local, *, create=True, asked=False):
        """What the registry does for a topic that somebody uses, or an administrator asks for."""
        name = topic(local)
        exists = await self.resources.topic_exists(name)
        async with self.rules.topic(name, exists=exists, create=create, asked=asked):
            await self.metadata.put(paths.managed_ledger(paths.managed_ledger_name(name)), b"{}")

    async def made(self):
        names = await self.resources.topics(topic("t").namespace)
        return [name.local for name in names]


@pytest.fixture
async def open_rules():
    opened = []

    async def open_one(**settings):
        one = Made(**settings)
        opened.append(one)
        await one.resources.ensure_defaults("standalone", "http://h:1", "pulsar://h:1")
        return one

    yield open_one
    for one in opened:
        one.policies.close()
        one.resources.close()
        await one.tasks.close()
        await one.metadata.close()


@pytest.fixture
async def rules(open_rules):
    return await open_rules()


@pytest.mark.parametrize(
    ("auto", "create", "asked", "made"),
    [
        (True, True, False, True),
        (True, False, False, False),
        (True, False, True, True),
        (False, True, False, False),
        (False, True, True, True),
    ],
)
async def test_who_may_make_a_topic(open_rules, auto, create, asked, made):
    rules = await open_rules(auto_topics=auto)
    if not made:
        with pytest.raises(TopicNotFound, match="Topic not found persistent://public/default/t"):
            await rules.make("t", create=create, asked=asked)
    else:
        await rules.make("t", create=create, asked=asked)
        await rules.make("t", create=False)
    assert await rules.made() == (["t"] if made else [])
    assert await rules.rules.usable(topic("t")) is (auto or made)


async def test_a_namespace_decides_for_its_topics(rules):
    namespace = topic("t").namespace
    override = AutoTopicCreationOverride(allowed=False)
    await rules.policies.change(namespace, auto_topic_creation=override)
    with pytest.raises(TopicNotFound):
        await rules.make("t")
    assert not await rules.rules.usable(topic("t"))
    override = AutoTopicCreationOverride(True, "partitioned", 3)
    await rules.policies.change(namespace, auto_topic_creation=override)
    assert await rules.rules.partitions(topic("p"), create=True) == 3


async def test_partitions_are_made_as_far_as_they_go(open_rules):
    rules = await open_rules(auto_topics=False)
    await rules.rules.create_partitioned(topic("p"), 3)
    await rules.make("p-partition-2", create=False)
    with pytest.raises(TopicNotFound):
        await rules.make("p-partition-3", create=True)
    assert await rules.rules.usable(topic("p-partition-1"))
    assert not await rules.rules.usable(topic("p-partition-3"))


async def test_partitions_are_admitted_together_as_far_as_they_go(rules):
    await rules.rules.create_partitioned(topic("p"), 2)
    await rules.resources.create_partitioned_topic(topic("__change_events"), 1)
    first, second, beyond = (topic(f"p-partition-{index}") for index in range(3))
    assert await rules.rules.admitted([first, beyond, second]) == [first, second]
    assert await rules.rules.admitted([topic("q-partition-0")]) == []
    assert await rules.rules.admitted([topic("__change_events-partition-0")]) == []


async def test_how_many_partitions_a_topic_has(rules):
    ask = rules.rules.partitions
    await rules.rules.create_partitioned(topic("p"), 3)
    await rules.make("plain")
    for create in (True, False):
        assert await ask(topic("p"), create=create) == 3
        assert await ask(topic("p-partition-1"), create=create) == 0
        assert await ask(topic("plain"), create=create) == 0
        with pytest.raises(TopicNotFound):
            await ask(topic("p-partition-3"), create=create)
        with pytest.raises(NamespaceNotFound):
            await ask(TopicName.parse("persistent://no/no/x"), create=create)
    assert await ask(topic("none"), create=True) == 0
    with pytest.raises(TopicNotFound):
        await ask(topic("none"), create=False)
    assert await rules.made() == ["plain"]


async def test_who_asks_at_once_gets_the_same_partitioned_topic(open_rules):
    rules = await open_rules(auto_topic_kind="partitioned", auto_partitions=2)
    asking = (rules.rules.partitions(topic("p"), create=True) for _ in range(5))
    assert await asyncio.gather(*asking) == [2] * 5


async def test_what_cannot_be_partitioned_is_refused(open_rules):
    rules = await open_rules(partitions_max=4)
    create = rules.rules.create_partitioned
    with pytest.raises(InvalidValue, match="Number of partitions should be more than 0"):
        await create(topic("p"), 0)
    with pytest.raises(InvalidValue, match="should be less than or equal to 4"):
        await create(topic("p"), 5)
    for name in ("p-partition-0", "p-partition-x"):
        with pytest.raises(InvalidName, match="should not contain '-partition-'"):
            await create(topic(name), 2)
    await create(topic("p"), 4)
    with pytest.raises(AlreadyExists):
        await create(topic("p"), 4)
    assert (await open_rules()).rules.partitions_max == PARTITIONS_MAX


async def test_a_partitioned_topic_grows_up_to_what_is_allowed(open_rules):
    rules = await open_rules(partitions_max=4, topics_per_namespace_max=3)
    await rules.rules.create_partitioned(topic("p"), 2)
    assert await rules.rules.grow(topic("p"), 3) == 2
    with pytest.raises(InvalidValue, match="can't be less than the current partitions 3"):
        await rules.rules.grow(topic("p"), 2)
    with pytest.raises(InvalidValue, match="greater than the maximum partitions per topic 4"):
        await rules.rules.grow(topic("p"), 5)
    with pytest.raises(LimitReached):
        await rules.rules.grow(topic("p"), 4)
    with pytest.raises(Conflict, match="is not the partitioned topic"):
        await rules.rules.grow(topic("none"), 2)


async def test_a_name_like_a_partitions_must_be_ones(rules):
    await rules.rules.create_partitioned(topic("p"), 2)
    await rules.rules.check_plain_name(topic("p-partition-1"))
    await rules.rules.check_plain_name(topic("plain"))
    for local in ("p-partition-2", "none-partition-0"):
        with pytest.raises(InvalidName, match="if there isn't a partitioned topic"):
            await rules.rules.check_plain_name(topic(local))


async def test_partitions_count_before_they_are_used(open_rules):
    rules = await open_rules(topics_per_namespace_max=3)
    await rules.rules.create_partitioned(topic("p"), 2)
    await rules.make("a")
    with pytest.raises(LimitReached, match="in namespace public/default: it has 3"):
        await rules.make("b")
    with pytest.raises(LimitReached):
        await rules.rules.create_partitioned(topic("q"), 1)
    await rules.make("p-partition-0")
    await rules.make("p-partition-1")
    await rules.make("a")


async def test_a_lower_limit_keeps_what_there_is(rules):
    await rules.make("a")
    await rules.make("b")
    await rules.policies.change(topic("t").namespace, topics_per_namespace_max=1)
    await rules.make("a")
    with pytest.raises(LimitReached):
        await rules.make("c")


async def test_of_many_at_once_as_many_are_made_as_there_may_be(open_rules):
    rules = await open_rules(topics_per_namespace_max=3)
    making = [rules.make(f"t{number}") for number in range(5)]
    creating = [rules.rules.create_partitioned(topic(f"p{number}"), 2) for number in range(5)]
    answers = await asyncio.gather(*making, *creating, return_exceptions=True)
    assert all(answer is None or isinstance(answer, LimitReached) for answer in answers)
    partitioned = await rules.resources.partitioned_topics(topic("t").namespace)
    assert len(await rules.made()) + 2 * len(partitioned) == 3


async def test_a_topic_that_could_not_be_made_takes_no_place(open_rules):
    rules = await open_rules(topics_per_namespace_max=1)
    with pytest.raises(OSError, match="disk"):
        async with rules.rules.topic(topic("a"), exists=False, create=True, asked=False):
            raise OSError("disk")
    await rules.make("b")


async def test_system_topics_are_made_by_nobody(open_rules):
    one = await open_rules(auto_topic_kind="partitioned", auto_partitions=3)
    for asked in (False, True):
        with pytest.raises(NotAllowed, match="__change_events is a system topic"):
            await one.make("__change_events", asked=asked)
        with pytest.raises(NotAllowed, match="Can not create transaction system topic persistent"):
            await one.make("t-s__transaction_pending_ack", asked=asked)
    assert await one.rules.partitions(topic("__change_events"), create=True) == 0
    assert not await one.rules.usable(topic("__change_events"))
    assert await one.made() == []
    assert await one.resources.partitioned_topics(topic("t").namespace) == []


async def test_a_system_topic_that_is_there_can_be_used_but_for_the_logs_of_transactions(
    open_rules,
):
    one = await open_rules()
    for local in ("__change_events", "t-s__transaction_pending_ack"):
        name = paths.managed_ledger_name(topic(local))
        await one.metadata.put(paths.managed_ledger(name), b"{}")
    await one.make("__change_events")
    with pytest.raises(NotAllowed):
        await one.make("t-s__transaction_pending_ack")
