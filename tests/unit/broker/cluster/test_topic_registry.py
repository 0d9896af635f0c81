"""Topics are opened once, closed once, and opened afresh after a failed write."""

import asyncio
from functools import partial

import pytest
from support.clock import ManualClock
from support.loop import until_idle
from unit.broker.admin.messages.entries import entry_of

from magnetar.broker.cluster.membership import Membership
from magnetar.broker.cluster.ownership import Ownership
from magnetar.broker.cluster.publishing import Publisher
from magnetar.broker.cluster.topic_logs import TopicLogs
from magnetar.broker.cluster.topic_registry import DELETE_AGAIN_S, DELETE_AGAIN_S_MAX, TopicRegistry
from magnetar.broker.creation import Creation
from magnetar.broker.policies import PolicyService
from magnetar.broker.resources import Resources
from magnetar.broker.settings.policies import PolicySettings
from magnetar.broker.topics.log.deletions import Deletions
from magnetar.broker.topics.settings import TopicSettings
from magnetar.clock import SystemClock
from magnetar.errors import (
    CorruptEntry,
    NotAllowed,
    NotOwner,
    TopicClosed,
    TopicNotFound,
    WriteFailed,
)
from magnetar.loop_iteration import LoopIteration
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.bundles import halved
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.managed_ledger.cache import EntryCache
from magnetar.storage.managed_ledger.managed_ledger_factory import ManagedLedgerFactory
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.tasks import Tasks

PLAIN = TopicName.parse("persistent://public/default/t")
OTHER = TopicName.parse("persistent://public/default/other")
PASSING = TopicName.parse("non-persistent://public/default/t")
PARTITIONED = TopicName.parse("persistent://public/default/p")


class FailingMetadata(MemoryMetadataStore):
    """Cannot write records with ``bad`` in their paths, nor delete those with ``undeletable``."""

    bad = None
    undeletable = None

    async def delete(self, path, **options):
        if self.undeletable is not None and self.undeletable in path:
            raise WriteFailed(path)
        await super().delete(path, **options)

    async def put(self, path, value, **options):
        if self.bad is not None and self.bad in path:
            raise WriteFailed(path)
        return await super().put(path, value, **options)


class CountedLogs(TopicLogs):
    """Counts how often a log is opened."""

    count = 0

    async def open(self, *arguments, **named):
        self.count += 1
        return await super().open(*arguments, **named)


class Opened:
    """A registry, and how often it opened a log."""

    def __init__(
        self,
        *,
        auto_creation=True,
        metadata=None,
        ledgers=None,
        **settings,
    ):
        self.metadata = metadata or FailingMetadata()
        self.ledgers = ledgers or MemoryLedgerStore()
        self.tasks = Tasks("test")
        self.factory = ManagedLedgerFactory(
            codec=JsonCodec(),
            metadata=self.metadata,
            ledgers=self.ledgers,
            cache=EntryCache(),
            clock=SystemClock(),
            tasks=self.tasks,
        )
        self.logs = CountedLogs(self.factory)
        self.clock = ManualClock()
        self.resources = Resources(self.metadata, codec=JsonCodec())
        deletions = Deletions(self.metadata, codec=JsonCodec())
        self.policies = policies = PolicyService(
            self.resources,
            self.metadata,
            broker=PolicySettings(auto_topics=auto_creation).policies(),
            tasks=self.tasks,
        )
        address = BrokerAddress.of("localhost", 1, 2)
        self.ownership = Ownership(
            Membership(self.metadata, address, JsonCodec(), SystemClock(), self.tasks)
        )
        self.registry = TopicRegistry(
            resources=self.resources,
            ownership=self.ownership,
            logs=self.logs,
            creation=Creation(self.resources, policies),
            policies=policies,
            deletions=deletions,
            settings=TopicSettings(**settings),
            clock=self.clock,
            iteration=LoopIteration(asyncio.get_running_loop()),
            producer_name=lambda: "made-up",
        )

    async def serving(self):
        """The same, once it serves the bundle of all these topics."""
        await self.registry.serve(PLAIN)
        return self

    async def topic_exists(self, topic):
        return await self.resources.topic_exists(topic)

    async def create_partitioned(self):
        await self.metadata.put(
            paths.partitioned_topic(PARTITIONED), b'{"version":1,"partitions":3}'
        )


@pytest.fixture
async def opened():
    opened = await Opened().serving()
    yield opened
    await opened.registry.close()
    await opened.tasks.close()


async def test_a_topic_is_opened_once_for_all_who_ask_at_once(opened):
    topics = await asyncio.gather(*(opened.registry.get(PLAIN, create=True) for _ in range(5)))
    assert len(set(map(id, topics))) == 1
    assert opened.logs.count == 1


async def test_a_topic_is_opened_once_when_an_administrator_asks_too(opened):
    got, created = await asyncio.gather(
        opened.registry.get(PLAIN, create=True), opened.registry.create(PLAIN)
    )
    assert got is created
    assert opened.logs.count == 1


async def test_a_new_topic_is_begun_once_and_only_where_its_bundle_is_served(opened):
    bundle = await opened.resources.bundle(PLAIN)
    begun = opened.registry.begin_new(PLAIN, bundle, look=False)
    assert opened.registry.begin_new(PLAIN, bundle, look=False) is None
    assert await opened.registry.get(PLAIN, create=False) is await begun
    assert opened.registry.begin_new(PLAIN, bundle, look=True) is None
    await opened.registry.unload_bundle(bundle)
    assert opened.registry.begin_new(OTHER, bundle, look=False) is None
    assert opened.logs.count == 1
    assert not await opened.topic_exists(OTHER)


async def test_who_waited_while_a_bundle_was_unloaded_opens_none_of_its_logs(opened, monkeypatch):
    """Else each of them fences the log of the broker that serves the topic now."""
    open_log = opened.logs.open
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def opened_slowly(*arguments, **named):
        begun.set()
        await goes_on.wait()
        return await open_log(*arguments, **named)

    monkeypatch.setattr(opened.logs, "open", opened_slowly)
    asked = [asyncio.ensure_future(opened.registry.get(PLAIN, create=True)) for _ in range(3)]
    await begun.wait()
    unloading = asyncio.ensure_future(
        opened.registry.unload_bundle(await opened.resources.bundle(PLAIN))
    )
    await until_idle()
    goes_on.set()
    found = await asyncio.gather(*asked, return_exceptions=True)
    await unloading
    assert [type(each) for each in found] == [NotOwner] * 3
    assert opened.logs.count == 1


async def test_a_part_is_unloaded_with_its_topics_once_it_is_split_off(opened):
    """Else they stay open in it, and the broker that has it next opens them, too."""
    topic = await opened.registry.get(PLAIN, create=True)
    bundle = await opened.resources.bundle(PLAIN)
    parts = bundle.split_at(list(halved(bundle)))
    part = next(each for each in parts if each.holds(PLAIN))
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def stored():
        begun.set()
        await goes_on.wait()

    splitting = asyncio.ensure_future(opened.registry.split_bundle(bundle, parts, stored))
    await begun.wait()
    unloading = asyncio.ensure_future(opened.registry.unload_bundle(part))
    await until_idle()
    assert (opened.ownership.owns(part), unloading.done()) == (True, False)
    goes_on.set()
    await asyncio.gather(splitting, unloading)
    assert (topic.name in opened.registry.loaded, opened.ownership.owns(part)) == (False, False)
    assert opened.ownership.bundles == [each for each in parts if each is not part]


async def test_a_bundle_is_not_split_where_another_broker_has_a_part(opened):
    """It may have failed to split the same bundle, and kept the parts."""
    topic = await opened.registry.get(PLAIN, create=True)
    bundle = await opened.resources.bundle(PLAIN)
    parts = bundle.split_at(list(halved(bundle)))
    other = BrokerAddress.of("other", 1, 2)
    await opened.metadata.put(paths.bundle_owner(parts[1]), JsonCodec().encode_owner(other))
    stored = []
    with pytest.raises(NotOwner, match="is served by other"):
        await opened.registry.split_bundle(bundle, parts, lambda: stored.append(1))
    assert (stored, opened.registry.loaded[PLAIN]) == ([], topic)
    await asyncio.wait_for(opened.registry.unload_bundle(parts[0]), 5)


async def test_policies_that_change_while_a_topic_is_opened_hold_for_it(opened, monkeypatch):
    open_log = opened.logs.open

    async def opened_slowly(*arguments, **named):
        ledger = await open_log(*arguments, **named)
        await opened.policies.change(PLAIN.namespace, message_ttl_s=7)
        return ledger

    await opened.resources.ensure_defaults("standalone", "http://h:1", "pulsar://h:1")
    await opened.registry.serve(PLAIN)
    monkeypatch.setattr(opened.logs, "open", opened_slowly)
    topic = await opened.registry.get(PLAIN, create=True)
    assert topic.policies.message_ttl_s == 7


async def test_a_missing_topic_is_created_only_where_that_is_allowed(opened):
    with pytest.raises(TopicNotFound, match="Topic not found persistent://public/default/t"):
        await opened.registry.get(PLAIN, create=False)
    await opened.registry.get(PLAIN, create=True)
    await opened.registry.unload(PLAIN)
    await opened.registry.get(PLAIN, create=False)


async def test_without_auto_creation_only_an_administrator_creates():
    opened = await Opened(auto_creation=False).serving()
    with pytest.raises(TopicNotFound):
        await opened.registry.get(PLAIN, create=True)
    await opened.registry.create(PLAIN)
    assert await opened.registry.get(PLAIN, create=False)
    await opened.create_partitioned()
    await opened.registry.get(PARTITIONED.partition(2), create=True)
    await opened.registry.close()


async def test_a_partition_beyond_the_count_is_not_found(opened):
    await opened.create_partitioned()
    await opened.registry.get(PARTITIONED.partition(2), create=False)
    with pytest.raises(TopicNotFound):
        await opened.registry.get(PARTITIONED.partition(3), create=True)


async def test_a_request_that_may_create_does_not_fail_with_one_that_may_not(opened):
    refused, created = await asyncio.gather(
        opened.registry.get(PLAIN, create=False),
        opened.registry.get(PLAIN, create=True),
        return_exceptions=True,
    )
    assert isinstance(refused, TopicNotFound)
    assert created is opened.registry.loaded[PLAIN]


async def test_a_non_persistent_topic_exists_as_long_as_it_is_open(opened):
    with pytest.raises(TopicNotFound):
        await opened.registry.get(PASSING, create=False)
    topic = await opened.registry.get(PASSING, create=True)
    assert await opened.registry.get(PASSING, create=False) is topic
    assert await opened.resources.topics(PASSING.namespace, "non-persistent") == [PASSING]
    assert await opened.resources.topics(PASSING.namespace) == []
    await opened.registry.unload(PASSING)
    assert not await opened.topic_exists(PASSING)
    assert opened.logs.count == 0
    logs = paths.managed_ledgers(PASSING.namespace, "non-persistent")
    assert await opened.metadata.children(logs) == []


async def test_a_non_persistent_topic_is_deleted_without_a_trace(opened):
    await opened.registry.get(PASSING, create=True)
    await opened.registry.delete(PASSING)
    assert not await opened.topic_exists(PASSING)
    assert await opened.metadata.children(paths.DELETIONS) == []


async def test_an_idle_non_persistent_topic_is_unloaded(opened):
    topic = await opened.registry.get(PASSING, create=True)
    topic.used_at -= TopicSettings().unload_idle_after_s
    await opened.registry.unload_if_idle(topic)
    assert PASSING not in opened.registry.loaded
    assert opened.registry.resting == {PASSING}
    await opened.registry.get(PASSING, create=True)
    assert not opened.registry.resting


@pytest.mark.parametrize(
    ("setting", "refused", "taken"),
    [("persistent_topics", PLAIN, PASSING), ("non_persistent_topics", PASSING, PLAIN)],
)
async def test_topics_of_a_domain_that_is_switched_off_are_refused(setting, refused, taken):
    opened = await Opened(**{setting: False}).serving()
    for ask in (opened.registry.create, partial(opened.registry.get, create=True)):
        with pytest.raises(NotAllowed, match="=false"):
            await ask(refused)
        assert await ask(taken)
    await opened.registry.close()
    await opened.tasks.close()


async def test_a_busy_topic_is_deleted_only_by_force(opened, client_end):
    topic = await opened.registry.get(PLAIN, create=True)
    await topic.attach_producer(client_end(), 1, "p")
    with pytest.raises(NotAllowed, match="Topic has 1 connected producers/consumers"):
        await opened.registry.delete(PLAIN)
    await opened.registry.delete(PLAIN, force=True)
    assert not await opened.topic_exists(PLAIN)
    with pytest.raises(TopicNotFound):
        await opened.registry.unload(PLAIN)


async def half_deleted(opened):
    """A topic with a subscription, of which a deletion has left a part."""
    topic = await opened.registry.get(PLAIN, create=True)
    await topic.create_subscription("s", EARLIEST)
    opened.metadata.undeletable = "/s"
    await opened.registry.delete(PLAIN)
    assert await opened.metadata.children(paths.DELETIONS)
    assert not await opened.topic_exists(PLAIN)
    assert await opened.resources.topics(PLAIN.namespace) == []
    opened.metadata.undeletable = None


async def test_a_deletion_that_cannot_be_finished_is_tried_again(opened, caplog):
    await half_deleted(opened)
    assert f"topic.not_deleted topic={PLAIN}" in caplog.text
    opened.metadata.undeletable = "/s"
    await opened.clock.advance(DELETE_AGAIN_S)
    assert f"topic.not_opened topic={PLAIN}" in caplog.text
    opened.metadata.undeletable = None
    await opened.clock.advance(2 * DELETE_AGAIN_S)
    assert await opened.metadata.children(paths.DELETIONS) == []
    assert not await opened.topic_exists(PLAIN)
    assert opened.clock.sleepers == 0


async def test_a_deletion_is_tried_again_after_so_many_seconds_at_most(opened):
    await half_deleted(opened)
    opened.metadata.undeletable = "/s"
    for _ in range(20):
        await opened.clock.advance(DELETE_AGAIN_S_MAX)
    opened.metadata.undeletable = None
    await opened.clock.advance(DELETE_AGAIN_S_MAX)
    assert await opened.metadata.children(paths.DELETIONS) == []
    assert opened.clock.sleepers == 0


async def test_who_opens_a_topic_finishes_a_deletion_that_was_begun(opened):
    await half_deleted(opened)
    with pytest.raises(TopicNotFound):
        await opened.registry.get(PLAIN, create=False)
    assert not await opened.topic_exists(PLAIN)
    assert await opened.metadata.children(paths.DELETIONS) == []
    assert (await opened.registry.get(PLAIN, create=True)).subscriptions == {}


async def test_the_next_process_finishes_a_deletion_that_was_begun(opened):
    await half_deleted(opened)
    next_process = await Opened(metadata=opened.metadata, ledgers=opened.ledgers).serving()
    await next_process.registry.finish_deletions()
    assert not await opened.topic_exists(PLAIN)
    assert await opened.metadata.children(paths.DELETIONS) == []
    await next_process.registry.close()
    await next_process.tasks.close()


async def test_a_deletion_that_cannot_be_finished_yet_keeps_no_broker_from_starting(opened, caplog):
    await half_deleted(opened)
    opened.metadata.undeletable = "/s"
    next_process = await Opened(metadata=opened.metadata, ledgers=opened.ledgers).serving()
    await next_process.registry.finish_deletions()
    assert "topic.not_deleted" in caplog.text
    opened.metadata.undeletable = None
    with pytest.raises(TopicNotFound):
        await next_process.registry.get(PLAIN, create=False)
    await next_process.registry.close()
    await next_process.tasks.close()


async def test_a_deletion_that_cannot_be_noted_leaves_the_topic_whole(opened):
    topic = await opened.registry.get(PLAIN, create=True)
    await topic.create_subscription("s", EARLIEST)
    opened.metadata.bad = paths.DELETIONS
    with pytest.raises(WriteFailed):
        await opened.registry.delete(PLAIN)
    assert topic.ledger.info().state == "closed"
    again = await opened.registry.get(PLAIN, create=False)
    assert list(again.subscriptions) == ["s"]


async def test_a_topic_that_cannot_be_opened_is_named_in_one_line(opened, caplog):
    await opened.metadata.put(paths.managed_ledger(paths.managed_ledger_name(PLAIN)), b"damaged")
    with pytest.raises(CorruptEntry):
        await opened.registry.get(PLAIN, create=True)
    assert f"topic.not_opened topic={PLAIN} error=The list of ledgers at" in caplog.text
    with pytest.raises(TopicNotFound):
        await opened.registry.get(OTHER, create=False)
    assert len(caplog.records) == 1, "that there is no such topic is for who asked alone"
    assert "Traceback" not in caplog.text


async def test_after_a_failed_write_the_topic_is_opened_afresh(
    opened, client_end, make_entry, make_run
):
    topic = await opened.registry.get(PLAIN, create=True)
    end = client_end()
    producer = await topic.attach_producer(end, 1, "p")
    producer.publish(make_run(make_entry("a")))
    await end.until(lambda e: e.sent)
    await topic.ledger.close()
    producer.publish(make_run(make_entry("b")))
    await end.until(lambda e: ("close_producer", 1) in e.sent)
    again = await opened.registry.get(PLAIN, create=False)
    assert again is not topic
    assert again.ledger.entry_count == 1


async def test_a_topic_whose_log_could_not_be_changed_is_opened_afresh(
    opened, client_end, make_entry, make_run
):
    opened.factory.settings = ManagedLedgerSettings(ledger_age_max_s=0)
    topic = await opened.registry.get(PLAIN, create=True)
    end = client_end()
    producer = await topic.attach_producer(end, 1, "p")
    producer.publish(make_run(make_entry("a")))
    await end.until(lambda e: e.sent)
    opened.metadata.bad = "/t"
    with pytest.raises(WriteFailed):
        await topic.maintain()  # It is time for the next ledger.
    opened.metadata.bad = None
    again = await opened.registry.get(PLAIN, create=False)
    await again.create_subscription("s", EARLIEST)
    assert again is not topic


async def test_a_topic_whose_log_is_fenced_is_closed_at_once(opened):
    """Else consumers alone would go on, and what they acknowledge could not be saved."""
    topic = await opened.registry.get(PLAIN, create=True)
    topic.ledger._list.fence("by a test")
    await until_idle()
    assert PLAIN not in opened.registry.loaded
    again = await opened.registry.get(PLAIN, create=False)
    assert not again.fenced


async def test_a_closed_registry_opens_nothing(opened):
    await opened.registry.get(PLAIN, create=True)
    await opened.registry.close()
    with pytest.raises(TopicClosed):
        await opened.registry.get(PLAIN, create=True)


async def test_a_topic_that_cannot_be_closed_does_not_keep_others_from_it(opened):
    await opened.registry.get(PLAIN, create=True)
    good = await opened.registry.get(OTHER, create=True)
    opened.metadata.bad = "/t"
    await opened.registry.close()
    assert good.ledger.info().state == "closed"


async def test_closing_waits_for_topics_that_are_being_unloaded(opened):
    topic = await opened.registry.get(PLAIN, create=True)
    unloading = asyncio.ensure_future(opened.registry.unload(PLAIN))
    await asyncio.sleep(0)
    await opened.registry.close()
    await unloading
    assert topic.ledger.info().state == "closed"


async def test_a_producer_finds_a_ledger_begun_where_a_consumer_opened_its_topic():
    opened = await Opened().serving()
    first = await opened.registry.get(PLAIN, create=True)
    publisher = await Publisher.attach(first, SystemClock())
    await publisher.publish([0], [entry_of(b"x")])
    await opened.registry.unload(PLAIN)
    opened.logs.begins_early = True
    topic = await opened.registry.get(PLAIN, create=False)  # As a consumer asks.
    assert not topic.ledger.takes_more
    await opened.registry.get(PLAIN, create=True, writes=True)
    await until_idle()
    assert topic.ledger.takes_more
    await opened.registry.close()
    await opened.tasks.close()
