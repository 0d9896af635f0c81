"""What both stores of schemas promise."""

import asyncio

import pytest

from magnetar.errors import CorruptEntry, StorageError
from magnetar.model.names import TopicName
from magnetar.model.schemas import SchemaInfo, SchemaType, SchemaVersion
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.memory import MemoryMetadataStore, MemoryTree
from magnetar.storage.schemas.in_ledgers import SchemasInLedgers
from magnetar.storage.schemas.in_records import SchemasInRecords

TOPIC = TopicName.parse("persistent://public/default/a/b c%")
OTHER = TopicName.parse("persistent://public/default/a")
A = SchemaInfo(SchemaType.AVRO, b'{"type": "int"}', {"made by": "tests"}, 1_700_000_000_000)
B = SchemaInfo(SchemaType.KEY_VALUE, bytes(range(256)))
GONE = SchemaInfo(SchemaType.NONE, deleted=True)


class Stuck(MemoryMetadataStore):
    """A metadata store that fails to delete the second version, if it is told to."""

    stuck = False

    async def delete(self, path, **options):
        if self.stuck and path.endswith("/1"):
            raise StorageError(path)
        await super().delete(path, **options)


@pytest.fixture
def tree():
    return MemoryTree()


@pytest.fixture
def opened(tree):
    return Stuck(tree)


@pytest.fixture
def ledgers():
    return MemoryLedgerStore()


@pytest.fixture(params=[SchemasInRecords, SchemasInLedgers])
def open_store(request, tree, ledgers):
    """Open the store of another broker."""

    def opens(metadata=None):
        stores = (metadata or MemoryMetadataStore(tree), ledgers)
        return request.param(*stores[: 1 + (request.param is SchemasInLedgers)])

    return opens


@pytest.fixture
def store(open_store, opened):
    return open_store(opened)


async def test_versions_come_back_in_their_order(store, open_store):
    for number, schema in enumerate([A, B, GONE, A]):
        assert await store.add(TOPIC, number, schema)
    expected = [SchemaVersion(number, each) for number, each in enumerate([A, B, GONE, A])]
    assert await store.versions(TOPIC) == expected
    assert await open_store().versions(TOPIC.partition(3)) == expected
    assert await store.versions(OTHER) == []


async def test_of_two_brokers_that_add_the_same_number_one_does(store, open_store):
    other = open_store()
    added = await asyncio.gather(store.add(TOPIC, 0, A), other.add(TOPIC, 0, B))
    assert sorted(added) == [False, True]
    assert await store.versions(TOPIC) == [SchemaVersion(0, A if added[0] else B)]
    assert not await other.add(TOPIC, 0, B)


async def test_what_is_forgotten_leaves_nothing(store, opened):
    await store.forget(TOPIC)
    await store.add(OTHER, 0, A)
    for number in range(3):
        await store.add(TOPIC, number, A)
    await store.forget(TOPIC)
    assert await store.versions(TOPIC) == []
    assert await opened.children(f"{paths.SCHEMAS}/public/default") == [OTHER.local]
    assert await store.versions(OTHER) == [SchemaVersion(0, A)]
    assert await store.add(TOPIC, 0, B)


async def test_forgetting_that_is_interrupted_leaves_a_topic_without_a_schema(opened):
    store = SchemasInRecords(opened)
    await store.add(TOPIC, 0, A)
    await store.add(TOPIC, 1, B)
    opened.stuck = True
    with pytest.raises(StorageError):
        await store.forget(TOPIC)
    assert (await store.versions(TOPIC))[-1].schema.deleted


async def test_what_another_broker_changes_is_told_by_its_name(store, open_store):
    told = []
    watch = store.watch(told.append)
    await open_store().add(TOPIC, 0, A)
    await asyncio.sleep(0)
    assert set(told) == {paths.schemas(TOPIC)}
    watch.cancel()


async def test_what_cannot_be_read_is_named(opened, ledgers):
    await opened.put(paths.schema(TOPIC, 0), b"{}")
    with pytest.raises(CorruptEntry, match=r"/schemas/public/default/.*/0"):
        await SchemasInRecords(opened).versions(TOPIC)
    await opened.put(paths.schemas(TOPIC), b"no locator")
    with pytest.raises(CorruptEntry, match=r"/schemas/public/default/"):
        await SchemasInLedgers(opened, ledgers).versions(TOPIC)


class Recorded(MemoryLedgerStore):
    """Remembers what it was asked to create and delete."""

    def __init__(self):
        super().__init__()
        self.told = []
        self.deleted = []

    async def create(self, options):
        self.told.append(options.metadata)
        return await super().create(options)

    async def delete(self, ledger_id):
        self.deleted.append(ledger_id)
        await super().delete(ledger_id)


async def test_ledgers_say_whose_they_are_and_go_with_their_schema(opened):
    ledgers = Recorded()
    store = SchemasInLedgers(opened, ledgers)
    await store.add(OTHER, 0, A)
    await store.add(OTHER, 1, B)
    assert ledgers.told[0] == {
        "application": b"pulsar",
        "component": b"schema",
        "pulsar/schemaId": b"public/default/a",
    }
    assert not await store.add(OTHER, 1, A)
    assert len(ledgers.told) == 2
    await store.forget(OTHER)
    assert len(ledgers.deleted) == 2


async def test_the_ledger_of_a_version_that_was_too_late_is_deleted(tree):
    ledgers = Recorded()
    stores = [SchemasInLedgers(MemoryMetadataStore(tree), ledgers) for _ in range(2)]
    await asyncio.gather(*(each.add(TOPIC, 0, A) for each in stores))
    assert len(ledgers.told) == 1 + len(ledgers.deleted)


async def test_a_version_whose_ledger_is_gone_or_damaged_is_named(opened):
    ledgers = Recorded()
    store = SchemasInLedgers(opened, ledgers)
    await store.add(OTHER, 0, A)
    (place,) = (await store._places(OTHER))[0]
    await ledgers.delete(place.ledger_id)
    with pytest.raises(StorageError, match=r"Version 0 of the .*gone: delete the schema"):
        await store.versions(OTHER)
    await store.forget(OTHER)
    assert await store.versions(OTHER) == []
