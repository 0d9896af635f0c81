"""What was offloaded, and is no longer in the broker's own folder, is read as before."""

import psutil
import pulsar
import pyarrow.parquet as pq
from offload.conftest import Offloading
from support.admin import ask
from support.keys import write_keys

from magnetar import FileKeyReader, InitialPosition
from magnetar.client import blocking
from magnetar.history.stores import open_ledger, store_at

COMPRESSIONS = (
    pulsar.CompressionType.NONE,
    pulsar.CompressionType.LZ4,
    pulsar.CompressionType.ZLib,
    pulsar.CompressionType.ZSTD,
    pulsar.CompressionType.SNAPPY,
)


def publish(url, topic):
    """Messages of all kinds, by the official client."""
    client = pulsar.Client(url)
    sent = 0
    for kind in COMPRESSIONS:
        batches = client.create_producer(
            topic, compression_type=kind, batching_enabled=True, batching_max_messages=7
        )
        for number in range(21):
            batches.send_async(
                b"%d " % number * 9,
                lambda *_: None,
                partition_key=f"k{number % 3}",
                properties={"n": str(number)},
                event_timestamp=number + 1,
            )
            sent += 1
        batches.flush()
        singles = client.create_producer(topic, compression_type=kind, batching_enabled=False)
        for number in range(9):
            singles.send(b"alone %d" % number, ordering_key="o")
            sent += 1
    chunks = client.create_producer(topic, batching_enabled=False, chunking_enabled=True)
    for size in (250_000, 90_000, 310_000):
        chunks.send(b"x" * size)
        sent += 1
    client.close()
    return sent


def everything(url, topic, count):
    """All that the official client can tell of each message."""
    client = pulsar.Client(url)
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    found = []
    for _ in range(count):
        message = reader.read_next(10_000)
        found.append(
            (
                message.message_id().ledger_id(),
                str(message.message_id()),
                message.data(),
                message.partition_key(),
                message.ordering_key(),
                message.properties(),
                message.publish_timestamp(),
                message.event_timestamp(),
                message.producer_name(),
            )
        )
    assert not reader.has_message_available()
    client.close()
    return found


def test_the_official_client_reads_the_same_messages(offloading):
    url = offloading.broker.service_url
    count = publish(url, "sales")
    before = everything(url, "sales", count)
    offloading.await_offloaded("sales")
    offloading.restart()
    browsed = shown(offloading.broker, "sales")  # Before a reader has them in memory.
    assert everything(url, "sales", count) == before
    assert browsed == [each[2].decode() for each in before if len(each[2]) < 1000]
    assert offloading.files == offloading.recorded("sales")
    open_id = offloading.ledgers("sales")[-1]["ledgerId"]
    stored = [each for each in before if each[0] != open_id]
    rows = sorted(pq.read_table(offloading.folder).to_pylist(), key=place_of)
    whole = {row["value"] for row in rows}
    # A message in chunks that lie in two ledgers is a row of neither, and the files say so.
    assert [each[2] for each in stored if each[2] in whole] == [row["value"] for row in rows]
    split = [each[2] for each in stored if each[2] not in whole]
    assert all(len(value) > 100_000 for value in split)
    assert not split or any(footer.missing for footer in footers(offloading))


def shown(broker, topic):
    """The values that an operator is shown of all small messages."""
    found, place = [], "earliest"
    while place is not None:
        path = f"persistent/public/default/{topic}/messages?count=50&from={place}"
        page = ask(broker, "GET", path)
        found += [each["value"] for each in page["messages"] if each["size"] < 1000]
        place = page["next"]
    return found


def place_of(row):
    place = row["message_id"]
    return place["ledger_id"], place["entry_id"], place["batch_index"]


def footers(offloading):
    store = store_at(offloading.folder.as_uri())
    for name in store.names(""):
        with open_ledger(store, name) as file:
            yield file.footer


def test_ours_seeks_decrypts_and_skips_what_was_acknowledged(offloading, tmp_path):
    url = offloading.broker.service_url
    write_keys(tmp_path, "orders")
    keys = FileKeyReader(
        public=tmp_path / "orders.public.pem", private=tmp_path / "orders.private.pem"
    )
    options = {"crypto_key_reader": keys, "initial_position": InitialPosition.EARLIEST}
    with blocking.Client(url) as client:
        with client.create_producer(
            "secret", encryption_keys=["orders"], crypto_key_reader=keys
        ) as producer:
            ids = [producer.send(b"%d" % number) for number in range(35)]
        with client.subscribe("secret", "s", **options) as consumer:
            messages = [consumer.receive(timeout_s=10) for _ in ids]
            published = [message.publish_time_ms for message in messages]
            for message in messages[3:25:2]:
                consumer.acknowledge(message)
            consumer.flush()
    offloading.await_offloaded("secret")
    assert all(footer.rows == 0 and not footer.whole for footer in footers(offloading))
    offloading.broker.terminate()  # A kill may cost the acknowledgements of the last second.
    offloading.broker.start()
    with blocking.Client(url) as client, client.subscribe("secret", "s", **options) as consumer:
        left = [number for number in range(35) if number not in range(3, 25, 2)]
        assert [int(consumer.receive(timeout_s=10).data) for _ in left] == left
        consumer.seek(ids[12])
        assert int(consumer.receive(timeout_s=10).data) == 12
        consumer.seek_time(published[17])
        assert int(consumer.receive(timeout_s=10).data) == published.index(published[17])


def test_what_is_trimmed_or_deleted_goes_from_the_folder_too(tmp_path):
    made = Offloading(tmp_path, defaultRetentionTimeInMinutes=0, defaultRetentionSizeInMB=0)
    with made.broker, blocking.Client(made.broker.service_url) as client:
        consumer = client.subscribe("short", "s", initial_position=InitialPosition.EARLIEST)
        with client.create_producer("short") as producer:
            for number in range(25):
                producer.send(b"%d" % number)
        made.await_offloaded("short")
        assert len(made.files) == 2
        for _ in range(10):
            consumer.acknowledge(consumer.receive(timeout_s=10))
        consumer.flush()
        made.until(lambda: len(made.files) == 1)
        consumer.close()
        ask(made.broker, "DELETE", "persistent/public/default/short")
        assert made.files == []


def test_a_reader_goes_on_when_the_process_that_reads_was_killed(offloading):
    with blocking.Client(offloading.broker.service_url) as client:
        with client.create_producer("sales") as producer:
            for number in range(45):
                producer.send(b"%d" % number)
        offloading.await_offloaded("sales")
        offloading.restart()
        with client.create_reader("sales", receiver_queue_size=5) as reader:
            assert int(reader.receive(timeout_s=10).data) == 0
            processes = psutil.Process(offloading.broker.pid).children()
            assert len(processes) == 1, "the one that reads: nothing is written"
            processes[0].kill()
            assert [int(reader.receive(timeout_s=20).data) for _ in range(44)] == [*range(1, 45)]
