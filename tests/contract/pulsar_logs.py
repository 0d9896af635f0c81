"""Logs of a real broker of Pulsar's, opened by ours, and what official clients make of them."""

from contextlib import asynccontextmanager

import pulsar
from support.admin import ask
from support.bookkeeper import bookkeeper_store

from magnetar.clock import SystemClock
from magnetar.storage.codec.pulsar_codec import PulsarCodec
from magnetar.storage.managed_ledger.cache import EntryCache
from magnetar.storage.managed_ledger.managed_ledger_factory import ManagedLedgerFactory
from magnetar.storage.metadata.zookeeper import ZooKeeperMetadataStore, ZooKeeperSettings
from magnetar.tasks import Tasks

SINGLES = [str(number) for number in range(25)]
BATCH = [f"in a batch {number}" for number in range(70)]
ACKNOWLEDGED = {
    *(text for text in SINGLES if int(text) % 3 == 0),
    *(BATCH[number] for number in (0, 1, 5, 64, 69)),
}
BATCH_LEFT = [~0b100011, 0b011110]
"""Bits of the messages of the batch: 1 is pending. Java's words are signed."""

SETTINGS = {
    "acknowledgmentAtBatchIndexLevelEnabled": True,
    "managedLedgerMaxEntriesPerLedger": 10,
    "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    "brokerDeduplicationEnabled": True,
    "brokerDeduplicationEntriesInterval": 5,
    "managedLedgerDefaultMarkDeleteRateLimit": 1000,
}


def log_name(topic):
    return f"public/default/persistent/{topic}"


def client_of(broker):
    logger = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    return pulsar.Client(broker.service_url, logger=logger)


def subscribe(client, topic, name):
    return client.subscribe(
        topic,
        name,
        consumer_type=pulsar.ConsumerType.Shared,
        initial_position=pulsar.InitialPosition.Earliest,
        batch_index_ack_enabled=True,
    )


def admin(broker, method, path, body=None):
    """Ask the broker's admin API of a topic."""
    return ask(broker, method, f"persistent/public/default/{path}", body)


def fill(broker, topic):
    """Have the broker write a topic: 25 messages, 70 in a batch, and some acknowledged by ``s``."""
    client = client_of(broker)
    consumer = subscribe(client, topic, "s")
    subscribe(client, topic, "all/of-it")
    admin(broker, "PUT", f"{topic}/subscription/s/properties", {"colour": "blue"})
    producer = client.create_producer(topic, producer_name="one", batching_enabled=False)
    for text in SINGLES:
        producer.send(text.encode())
    batches = client.create_producer(
        topic, batching_enabled=True, batching_max_publish_delay_ms=999
    )
    for text in BATCH:
        batches.send_async(text.encode(), None)
    batches.flush()
    for _ in range(len(SINGLES) + len(BATCH)):
        message = consumer.receive(10_000)
        if message.data().decode() in ACKNOWLEDGED:
            consumer.acknowledge(message)
    await_acknowledged(broker, topic)
    client.close()


def compact(broker, topic):
    """Publish twelve messages of three keys, and have the broker compact the topic."""
    client = client_of(broker)
    subscribe(client, topic, "holder")
    producer = client.create_producer(topic, batching_enabled=False)
    for number in range(12):
        producer.send(b"%d" % number, partition_key=f"key {number % 3}")
    client.close()
    admin(broker, "PUT", f"{topic}/compaction")
    while admin(broker, "GET", f"{topic}/compaction")["status"] == "RUNNING":
        pass
    assert admin(broker, "GET", f"{topic}/compaction")["status"] == "SUCCESS"


def read_compacted(broker, topic):
    """The texts that a compacted reader gets."""
    client = client_of(broker)
    reader = client.create_reader(topic, pulsar.MessageId.earliest, is_read_compacted=True)
    found = []
    while reader.has_message_available():
        found.append(reader.read_next(10_000).data().decode())
    client.close()
    return found


def await_acknowledged(broker, topic):
    """Return when the broker knows all that was acknowledged, and has written it."""
    while True:
        cursor = admin(broker, "GET", f"{topic}/internalStats")["cursors"]["s"]
        # The acknowledgements of the batch change neither, and come in the order they were sent.
        if cursor["totalNonContiguousDeletedMessagesRange"] == 8 and cursor["cursorLedger"] >= 0:
            return


def publish(broker, topic, text):
    client = client_of(broker)
    client.create_producer(topic).send(text.encode())
    client.close()


def received(broker, topic, name, count):
    """The texts of all messages that a subscription gets, and so many there must be."""
    client = client_of(broker)
    consumer = subscribe(client, topic, name)
    found = []
    for _ in range(count):
        message = consumer.receive(10_000)
        found.append(message.data().decode())
        consumer.acknowledge(message)
    try:
        extra = consumer.receive(300)
    except pulsar.Timeout:
        return found
    finally:
        client.close()
    return [*found, f"and {extra.data()!r}"]


@asynccontextmanager
async def our_stores(cluster):
    """Open what a broker of ours keeps on the cluster: metadata and ledgers."""
    metadata = await ZooKeeperMetadataStore.open(
        ZooKeeperSettings(servers=cluster.zookeeper.address)
    )
    async with bookkeeper_store(cluster) as ledgers:
        yield metadata, ledgers
    await metadata.close()


@asynccontextmanager
async def our_logs(cluster):
    """What opens logs on the cluster as a broker of ours does."""
    tasks = Tasks("logs")
    async with our_stores(cluster) as (metadata, ledgers):
        yield ManagedLedgerFactory(
            metadata=metadata,
            ledgers=ledgers,
            codec=PulsarCodec(),
            cache=EntryCache(),
            clock=SystemClock(),
            tasks=tasks,
        )
        await tasks.close()
