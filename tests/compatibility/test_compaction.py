"""Compaction, as the official client and an administrator see it."""

import json
import socket
import threading
import time
from itertools import count
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pulsar
import pytest
from compatibility.conftest import open_client
from pulsar import CompressionType, ConsumerType, InitialPosition, MessageId
from support.elsewhere import wait_until

from magnetar import EARLIEST_MESSAGE
from magnetar import InitialPosition as OurInitialPosition
from magnetar.client import blocking
from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility

SETTINGS = {
    "managedLedgerMaxEntriesPerLedger": 10,
    "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    "managedLedgerDefaultMarkDeleteRateLimit": 100,
    "retentionCheckIntervalInSeconds": 1,
    "activeConsumerFailoverDelayTimeMillis": 100,
    "brokerServiceCompactionMonitorIntervalInSeconds": 1,
}
NAMES = count()


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with BrokerProcess(
        tmp_path_factory.mktemp("compaction") / "data", settings=SETTINGS
    ) as process:
        yield process


@pytest.fixture
def client(broker):
    opened = open_client(broker.service_url)
    yield opened
    opened.close()


@pytest.fixture
def topic(broker):
    """One that a subscription keeps from being trimmed."""
    name = f"persistent://public/default/compacted-{next(NAMES)}"
    keep(broker, name)
    return name


def keep(broker, topic):
    ask(broker, "PUT", topic, "")
    ask(broker, "PUT", topic, "/subscription/keep", "earliest")


def ask(broker, method, topic, path, value=None):
    request = Request(
        f"{broker.web_url}/admin/v2/{topic.replace('://', '/')}{path}",
        method=method,
        data=None if value is None else json.dumps(value).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urlopen(request, timeout=20) as response:
        answer = response.read()
    return json.loads(answer) if answer else None


def compact(broker, topic):
    ask(broker, "PUT", topic, "/compaction")
    wait_until(lambda: status(broker, topic) != "RUNNING", "compaction does not end")
    assert status(broker, topic) == "SUCCESS"


def status(broker, topic):
    return ask(broker, "GET", topic, "/compaction")["status"]


def publish(client, topic, *pairs, **options):
    """Messages of (key, value); one batch where there are several and batching is on."""
    options = {"batching_enabled": False, "block_if_queue_full": True} | options
    producer = client.create_producer(topic, batching_max_publish_delay_ms=1000, **options)
    for key, value in pairs:
        producer.send_async(value, None, partition_key=key)
    producer.flush()
    producer.close()


def read(client, topic, start=MessageId.earliest, **options):
    """All that a compacted reader gets: keys, values and ids.

    In place of what compaction removed from a batch this client has a message without a key.
    """
    reader = client.create_reader(topic, start, is_read_compacted=True, **options)
    found = []
    while reader.has_message_available():
        message = reader.read_next(10_000)
        if message.partition_key():
            found.append((message.partition_key(), message.data(), message.message_id()))
    reader.close()
    return found


def table(client, topic):
    """The latest value of each key, as a table view has it."""
    found = {}
    for key, value, _ in read(client, topic):
        if value:
            found[key] = value
        else:
            found.pop(key, None)
    return found


def ids(found):
    return [(place.ledger_id(), place.entry_id(), place.batch_index()) for _, _, place in found]


def test_a_reader_gets_the_last_message_of_each_key(broker, client, topic):
    pairs = [("a", b"1"), ("b", b"1"), ("a", b"2"), ("c", b"1"), ("b", b"")]
    publish(client, topic, *pairs)
    assert len(read(client, topic)) == 5, "it was not compacted yet"
    before = ids(read(client, topic))
    assert status(broker, topic) == "NOT_RUN"
    compact(broker, topic)
    found = read(client, topic)
    assert [(key, value) for key, value, _ in found] == [("a", b"2"), ("c", b"1")]
    assert ids(found) == [before[2], before[3]]
    publish(client, topic, ("a", b"3"))
    assert [value for _, value, _ in read(client, topic)] == [b"2", b"1", b"3"]
    plain = client.create_reader(topic, MessageId.earliest)
    assert [plain.read_next(10_000).data() for _ in range(6)] == [*(v for _, v in pairs), b"3"]
    stats = ask(broker, "GET", topic, "/stats")
    assert stats["compaction"]["lastCompactionRemovedEventCount"] == 3
    assert "__compaction" not in stats["subscriptions"]


@pytest.mark.parametrize(
    "compression",
    [CompressionType.NONE, CompressionType.LZ4, CompressionType.ZLib, CompressionType.ZSTD],
)
def test_batches_are_compacted_message_by_message(broker, client, topic, compression):
    options = {"batching_enabled": True, "compression_type": compression}
    publish(client, topic, ("a", b"1"), ("b", b"1"), ("c", b"1"), ("d", b"1"), **options)
    publish(client, topic, ("b", b""), ("a", b"2"), ("e", b"1"), **options)
    before = ids(read(client, topic))
    assert [index for *_, index in before] == [0, 1, 2, 3, 0, 1, 2]
    compact(broker, topic)
    found = read(client, topic)
    assert [pair[:2] for pair in found] == [("c", b"1"), ("d", b"1"), ("a", b"2"), ("e", b"1")]
    assert ids(found) == [before[2], before[3], before[5], before[6]]
    publish(client, topic, ("c", b""), ("e", b""), **options)
    compact(broker, topic)
    assert table(client, topic) == {"a": b"2", "d": b"1"}
    publish(client, topic, ("a", b""), ("d", b""), **options)
    compact(broker, topic)
    assert read(client, topic) == []


@pytest.mark.parametrize("compression", [CompressionType.NONE, CompressionType.ZLib])
def test_a_tombstone_may_come_alone(broker, client, topic, compression):
    publish(client, topic, ("a", b"1"), ("b", b"1"), compression_type=compression)
    publish(client, topic, ("a", b""), compression_type=compression)
    compact(broker, topic)
    assert table(client, topic) == {"b": b"1"}
    assert len(read(client, topic)) == 1


def test_a_chunked_message_stays_or_goes_as_a_whole(broker, client, topic):
    options = {"chunking_enabled": True, "compression_type": CompressionType.NONE}
    large = b"x" * (6 * 1024 * 1024)
    publish(client, topic, ("a", large), **options)
    publish(client, topic, ("b", large), ("a", b"small"), **options)
    compact(broker, topic)
    assert [(key, len(value)) for key, value, _ in read(client, topic)] == [
        ("b", len(large)),
        ("a", 5),
    ]


def test_a_reader_begins_anywhere(broker, client, topic):
    publish(client, topic, *((str(number % 10), b"%d" % number) for number in range(100)))
    publish(client, topic, ("old", b"100"))
    compact(broker, topic)
    found = read(client, topic)
    assert [int(value) for _, value, _ in found] == list(range(90, 101))
    assert [int(value) for _, value, _ in read(client, topic, found[3][2])] == list(range(94, 101))
    assert read(client, topic, MessageId.latest) == []
    reader = client.create_reader(topic, MessageId.earliest, is_read_compacted=True)
    assert reader.read_next(10_000).data() == b"90"
    reader.seek(found[5][2])
    assert reader.read_next(10_000).data() in (b"95", b"96")  # As the client has it.
    reader.seek(MessageId.earliest)
    assert reader.read_next(10_000).data() == b"90"
    reader.seek(0)  # By time.
    assert reader.read_next(10_000).data() == b"90"


def test_what_the_log_no_longer_has_is_still_read(broker, client, topic):
    """Also after a restart, by a new reader and a new subscription."""
    publish(client, topic, *((str(number % 7), b"%d" % number) for number in range(40)))
    compact(broker, topic)
    left = [int(value) for _, value, _ in read(client, topic)]
    assert left == list(range(33, 40))
    ask(broker, "DELETE", topic, "/subscription/keep")
    wait_until(lambda: entries(broker, topic) < 20, "nothing is trimmed")
    assert [int(value) for _, value, _ in read(client, topic)] == left
    ask(broker, "PUT", topic, "/unload")
    assert [int(value) for _, value, _ in read(client, topic)] == left
    consumer = client.subscribe(
        topic, "s", is_read_compacted=True, initial_position=InitialPosition.Earliest
    )
    for number in left:
        message = consumer.receive(10_000)
        assert int(message.data()) == number
        consumer.acknowledge_cumulative(message)
    consumer.close()


def entries(broker, topic):
    return ask(broker, "GET", topic, "/internalStats")["numberOfEntries"]


@pytest.mark.parametrize("kind", [ConsumerType.Exclusive, ConsumerType.Failover])
def test_a_durable_subscription_may_read_compacted(broker, client, topic, kind):
    publish(client, topic, *((str(number % 5), b"%d" % number) for number in range(25)))
    options = {"consumer_type": kind, "is_read_compacted": True}
    client.subscribe(topic, "s", initial_position=InitialPosition.Earliest, **options).close()
    compact(broker, topic)
    consumer = client.subscribe(topic, "s", **options)
    got = [consumer.receive(10_000) for _ in range(5)]
    assert [int(message.data()) for message in got] == list(range(20, 25))
    for message in got[:3]:
        consumer.acknowledge(message)
    consumer.close()
    consumer = client.subscribe(topic, "s", **options)
    for expected in (23, 24):
        message = consumer.receive(10_000)
        assert int(message.data()) == expected
        consumer.acknowledge(message)
    wait_until(lambda: backlog(broker, topic) == 0, "what compaction removed stays a backlog")
    consumer.close()


def backlog(broker, topic):
    return ask(broker, "GET", topic, "/stats")["subscriptions"]["s"]["msgBacklog"]


def test_our_client_reads_what_the_official_one_wrote(broker, client, topic):
    publish(client, topic, *((str(number), b"1") for number in range(9)), batching_enabled=True)
    publish(client, topic, ("1", b"2"), ("3", b""))
    with blocking.Client(broker.service_url) as ours:
        producer = ours.create_producer(topic, batching=False)
        producer.send(b"", key="5")
        compact(broker, topic)
        producer.send(b"3", key="7")
        reader = ours.create_reader(topic, EARLIEST_MESSAGE, read_compacted=True)
        found = []
        while reader.has_message_available():
            found.append(reader.receive(timeout_s=10))
        assert [message.key for message in found] == [*"024678", "1", "7"]
        reader.seek(found[3].message_id)
        assert reader.receive(timeout_s=10).key == "6"
        consumer = ours.subscribe(
            topic, "s", read_compacted=True, initial_position=OurInitialPosition.EARLIEST
        )
        assert [consumer.receive(timeout_s=10).key for _ in range(8)] == [*"024678", "1", "7"]


@pytest.mark.parametrize("kind", [ConsumerType.Shared, ConsumerType.KeyShared])
def test_only_one_active_consumer_may_read_compacted(client, topic, kind):
    with pytest.raises(pulsar.InvalidConfiguration):  # Says the client; so does the broker.
        client.subscribe(topic, "s", consumer_type=kind, is_read_compacted=True)


def test_it_begins_by_itself_at_a_threshold(broker, client):
    namespace = f"{broker.web_url}/admin/v2/namespaces/public/threshold"
    for method, path, value in [("PUT", "", None), ("PUT", "/compactionThreshold", b"2000")]:
        headers = {"Content-Type": "application/json"}
        urlopen(Request(namespace + path, method=method, data=value, headers=headers), timeout=20)
    topic, other = (f"persistent://public/threshold/{name}" for name in ("t", "never"))
    keep(broker, topic)
    keep(broker, other)
    ask(broker, "POST", other, "/compactionThreshold", 1_000_000)
    for name in (topic, other):
        publish(client, name, *(("a", b"%04d" % number * 20) for number in range(50)))
    wait_until(lambda: len(read(client, topic)) < 10, "it does not begin")
    assert status(broker, other) == "NOT_RUN", "its own policy overrules the namespace's"


def test_a_second_time_while_it_runs_is_refused(broker, client, topic):
    publish(client, topic, *((str(number), b"x") for number in range(3000)), batching_enabled=True)
    path = f"/admin/v2/{topic.replace('://', '/')}/compaction"
    asked = f"PUT {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n".encode()
    place = urlsplit(broker.web_url)
    with socket.create_connection((place.hostname, place.port), timeout=20) as connection:
        # Both at once: a second call on its own may come when the first one's work is done.
        connection.sendall(asked + b"\r\n" + asked + b"Connection: close\r\n\r\n")
        first, second = connection.makefile("rb").read().split(b"HTTP/1.1 ")[1:]
    assert first.startswith(b"204")
    assert second.startswith(b"409")
    assert second.endswith(b'{"reason":"Compaction already in progress"}')
    wait_until(lambda: status(broker, topic) == "SUCCESS", "it does not end")


def test_kills_leave_the_old_or_the_new(tmp_path):
    """Whatever a compacted reader gets, the latest values are complete, life after life.

    Takes seconds: each life is a process.
    """
    topic, values = "persistent://public/default/killed", {}
    settings = SETTINGS | {"managedLedgerMaxEntriesPerLedger": 200}
    with BrokerProcess(tmp_path / "data", settings=settings) as broker:
        keep(broker, topic)
        for life in range(5):
            client = open_client(broker.service_url)
            assert table(client, topic) == values
            pairs = [(str(number % 300), b"%d.%d" % (life, number)) for number in range(1500)]
            pairs += [(str(number), b"") for number in range(life * 10, life * 10 + 5)]
            publish(client, topic, *pairs, batching_enabled=True, batching_max_messages=20)
            values |= dict(pairs)
            values = {key: value for key, value in values.items() if value}
            client.close()
            if not life:
                compact(broker, topic)
                ask(broker, "DELETE", topic, "/subscription/keep")  # What is compacted may go.
                continue
            compacting = threading.Thread(target=compact_if_it_lives, args=(broker, topic))
            compacting.start()
            time.sleep(0.02 * (life - 1))  # It takes about 60 ms: some die early, some late.
            broker.kill()
            compacting.join()
            broker.start()
        client = open_client(broker.service_url)
        assert table(client, topic) == values
        compact(broker, topic)
        assert table(client, topic) == values
        assert len(read(client, topic)) == len(values)
        client.close()


def compact_if_it_lives(broker, topic):
    try:
        ask(broker, "PUT", topic, "/compaction")
    except OSError:
        return
