"""The topics of a namespace as those who watch them are told, by this process or another."""

import pytest
from support.clock import ManualClock
from support.loop import until_idle

from magnetar.broker.resources import Resources
from magnetar.broker.topic_watches import TopicWatches
from magnetar.errors import WriteFailed
from magnetar.model.names import NamespaceName, TopicName
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.tasks import Tasks

NAMESPACE = NamespaceName("public", "default")


def topic(local):
    return TopicName.parse(f"persistent://public/default/{local}")


def record(local):
    return paths.managed_ledger(paths.managed_ledger_name(topic(local)))


class Told:
    """One who watches, and all that it was told."""

    def __init__(self):
        self.came, self.went = [], []

    def __call__(self, came, went):
        self.came += [each.local for each in came]
        self.went += [each.local for each in went]


@pytest.fixture
async def metadata():
    store = MemoryMetadataStore()
    yield store
    await store.close()


@pytest.fixture
async def watches(metadata):
    resources, tasks = Resources(metadata, codec=JsonCodec()), Tasks("test")
    yield TopicWatches(resources, clock=ManualClock(), tasks=tasks)
    await tasks.close()
    resources.close()


async def test_what_is_there_is_known_and_not_told(metadata, watches):
    await metadata.put(record("a"), b"{}")
    told = Told()
    namespace = await watches.begin(NAMESPACE, told)
    assert namespace.topics == {topic("a")}
    await until_idle()
    assert (told.came, told.went) == ([], [])


async def test_what_comes_and_goes_is_told_to_everybody(metadata, watches):
    first, second = Told(), Told()
    namespace = await watches.begin(NAMESPACE, first)
    assert await watches.begin(NAMESPACE, second) is namespace
    await metadata.put(record("b/c d"), b"{}")
    await metadata.put(record("a"), b"{}")
    await until_idle()
    await metadata.delete(record("a"))
    await until_idle()
    for told in (first, second):
        assert (sorted(told.came), told.went) == (["a", "b/c d"], ["a"])


async def test_only_the_coming_and_going_of_topics_of_the_namespace_is_told(metadata, watches):
    told = Told()
    await metadata.put(record("a"), b"{}")
    await watches.begin(NAMESPACE, told)
    await metadata.put(record("a"), b'{"more": 1}')
    await metadata.put(paths.cursor(paths.managed_ledger_name(topic("a")), "s"), b"{}")
    elsewhere = TopicName.parse("persistent://public/other/x")
    await metadata.put(paths.managed_ledger(paths.managed_ledger_name(elsewhere)), b"{}")
    passing = TopicName.parse("non-persistent://public/default/x")
    await metadata.put(paths.managed_ledger(paths.managed_ledger_name(passing)), b"{}")
    await until_idle()
    assert (told.came, told.went) == ([], [])


async def test_a_topic_that_came_and_went_at_once_is_not_told(metadata, watches):
    told = Told()
    await watches.begin(NAMESPACE, told)
    await metadata.put(record("a"), b"{}")
    await metadata.delete(record("a"))
    await until_idle()
    assert (told.came, told.went) == ([], [])


async def test_who_ends_is_told_nothing_and_the_last_one_takes_the_list_along(metadata, watches):
    first, second = Told(), Told()
    namespace = await watches.begin(NAMESPACE, first)
    await watches.begin(NAMESPACE, second)
    watches.end(namespace, first)
    await metadata.put(record("a"), b"{}")
    await until_idle()
    assert (first.came, second.came) == ([], ["a"])
    watches.end(namespace, second)
    assert await watches.begin(NAMESPACE, first) is not namespace


async def test_what_was_missed_while_the_store_failed_is_told_later(metadata, watches, monkeypatch):
    told = Told()
    await watches.begin(NAMESPACE, told)
    get = metadata.get

    async def broken(_):
        raise WriteFailed("the disk is gone")

    monkeypatch.setattr(metadata, "get", broken)
    await metadata.put(record("a"), b"{}")
    await until_idle()
    assert told.came == []
    monkeypatch.setattr(metadata, "children", broken)
    with pytest.raises(WriteFailed):
        await watches.begin(NamespaceName("public", "other"), Told())
    monkeypatch.undo()
    assert metadata.get == get
    await metadata.put(record("b"), b"{}")
    await until_idle()
    assert sorted(told.came) == ["a", "b"]
