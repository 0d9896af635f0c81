"""Against a real broker, in memory, in this process."""

import random
from contextlib import closing
from itertools import pairwise

import pyarrow as pa
import pytest
from support.admin import ask
from support.chunks import publish
from support.keys import write_keys

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import CryptoFailed, EntryNotFound, TimedOut
from magnetar.message.compression import CompressionType
from magnetar.model.position import Position
from magnetar.spark import range_read
from magnetar.spark.batch_reader import BatchReader
from magnetar.spark.limit import Limit
from magnetar.spark.offsets import NOTHING_READ, Offset
from magnetar.spark.planning import Range
from magnetar.spark.range_read import RangeReader
from magnetar.spark.read_options import ReadOptions
from magnetar.spark.rows import Rows
from magnetar.spark.schema import READ_SCHEMA
from magnetar.spark.task_producers import TaskProducers
from magnetar.spark.write_options import Encryption


def reader(client, *, rows_max=1000, fail_on_data_loss=True):
    return RangeReader(
        client, rows_max=rows_max, timeout_s=10.0, fail_on_data_loss=fail_on_data_loss
    )


def send(client, topic, numbers, **options):
    with client.create_producer(topic, **options) as producer:
        ids = producer.send_many([OutgoingMessage(b"%d" % number) for number in numbers])
        return [Offset(one.ledger_id, one.entry_id, one.batch_index) for one in ids]


def numbers(read):
    return [int(one.data) for entries in read for entry in entries for one in entry.messages()]


def test_a_range_is_read_whole_in_lists_that_are_not_too_long(client, topic):
    offsets = send(client, topic, range(1000), batch_messages_max=50)
    lists = list(reader(client, rows_max=300).read(Range(topic, NOTHING_READ, offsets[-1])))
    assert max(sum(entry.count for entry in entries) for entries in lists) < 300 + 50
    assert numbers(lists) == list(range(1000))


def test_only_so_many_bytes_are_sent_ahead(magnetar_broker, client, topic, monkeypatch):
    monkeypatch.setattr(range_read, "_AHEAD_BYTES_MAX", 1)
    offsets = send(client, topic, range(100), batching=False)
    with closing(reader(client).read(Range(topic, NOTHING_READ, offsets[-1]))) as lists:
        next(lists)
        said = ask(magnetar_broker, "GET", topic.replace("://", "/") + "/stats")
        (subscription,) = said["subscriptions"].values()
        (consumer,) = subscription["consumers"]
        assert consumer["availablePermits"] < 100  # Else it would be two lists of 1,000.


@pytest.mark.parametrize("batching", [True, False])
def test_two_ranges_meet_at_any_message(client, topic, batching):
    offsets = send(client, topic, range(100), batching=batching)
    for cut in (0, 1, 49, 98):
        first = reader(client).read(Range(topic, NOTHING_READ, offsets[cut]))
        second = reader(client).read(Range(topic, offsets[cut], offsets[-1]))
        assert numbers(first) == list(range(cut + 1))
        assert numbers(second) == list(range(cut + 1, 100))


def test_what_was_published_later_is_not_read(client, topic):
    offsets = send(client, topic, range(10))
    send(client, topic, range(10, 20))
    assert numbers(reader(client).read(Range(topic, NOTHING_READ, offsets[-1]))) == list(range(10))


def test_a_range_that_goes_on_beyond_the_topic_is_an_error(client, topic):
    offsets = send(client, topic, range(10))
    beyond = Offset(offsets[-1].ledger_id, offsets[-1].entry_id + 5)
    with pytest.raises(EntryNotFound, match="where the range to read ends"):
        numbers(reader(client).read(Range(topic, NOTHING_READ, beyond)))


def test_a_range_that_begins_before_the_topic_is_an_error(client, topic):
    (before,) = send(client, f"{topic}-earlier", [0])
    offsets = send(client, topic, range(10))
    with pytest.raises(EntryNotFound, match=r"now begins at .*subscription"):
        numbers(reader(client).read(Range(topic, before, offsets[-1])))


def test_a_range_that_begins_at_the_end_of_a_ledger_lacks_nothing(magnetar_broker, client, topic):
    """What lies before it is still there, though the reader begins with the next ledger."""
    before = send(client, topic, range(3), batching=False)[-1]
    ask(magnetar_broker, "PUT", topic.replace("://", "/") + "/unload")
    offsets = send(client, topic, range(3, 6), batching=False)
    assert offsets[0].ledger_id > before.ledger_id
    end = Offset.before(Position(before.ledger_id, before.entry_id + 1))
    assert numbers(reader(client).read(Range(topic, end, offsets[-1]))) == [3, 4, 5]


def test_an_end_that_is_no_message_is_an_error(client, topic):
    offsets = send(client, topic, range(10), batch_delay_s=0.05)
    inside = offsets[-1]._replace(batch_index=-1)
    with pytest.raises(EntryNotFound, match="has no message"):
        numbers(reader(client).read(Range(topic, NOTHING_READ, inside)))


def test_a_topic_that_was_deleted_has_lost_its_end_and_stays_deleted(client, topic):
    with pytest.raises(EntryNotFound, match=f"{topic} has no message 7:3:-1"):
        numbers(reader(client).read(Range(topic, NOTHING_READ, Offset(7, 3))))
    assert topic not in client.topics("public/default")


def test_what_is_there_and_does_not_come_is_waited_for_and_then_an_error(
    magnetar_broker, client, topic, monkeypatch
):
    monkeypatch.setattr(range_read, "_WAIT_S", 0.05)
    offsets = send(client, topic, range(2), batching=False)
    rate = {"dispatchThrottlingRateInMsg": 1, "ratePeriodInSecond": 3600}
    ask(magnetar_broker, "POST", topic.replace("://", "/") + "/dispatchRate", rate)
    waiting = RangeReader(client, rows_max=10, timeout_s=0.2, fail_on_data_loss=True)
    read = waiting.read(Range(topic, NOTHING_READ, offsets[-1]))
    assert numbers([next(read)]) == [0]
    with pytest.raises(
        TimedOut, match=rf"nothing came for 0.2 s after {offsets[0]}, .*{offsets[1]}"
    ):
        next(read)


@pytest.mark.parametrize(("rows_max", "used"), [(None, 50), (7, 7), (90, 50)])
def test_lists_are_as_long_as_the_option_says_or_shorter(magnetar_broker, rows_max, used):
    given = {"service.url": magnetar_broker.service_url, "topic": "t", "rowsPerBatch": "50"}
    options = ReadOptions.parse(given, streaming=False)
    assert RangeReader.of(options, rows_max=rows_max).rows_max == used


def test_when_data_may_be_lost_there_is_a_warning_and_the_rest(client, topic, caplog):
    (before,) = send(client, f"{topic}-earlier", [0])
    offsets = send(client, topic, range(10))
    beyond = Offset(offsets[-1].ledger_id, offsets[-1].entry_id + 5)
    lenient = reader(client, fail_on_data_loss=False)
    assert numbers(lenient.read(Range(topic, before, beyond))) == list(range(10))
    assert caplog.text.count("spark.data_lost") == 2


def test_a_limit_of_messages_is_measured_by_reading(client, topic):
    offsets = send(client, topic, range(100))
    whole = Range(topic, NOTHING_READ, offsets[-1])

    def end(wanted, count, **options):
        return reader(client, **options).measure(wanted, Limit(count, None)).end

    assert end(whole, 30, rows_max=7) == offsets[29]
    assert end(whole, 100) == offsets[-1]
    assert end(whole, 1000) == offsets[-1]
    assert end(Range(topic, offsets[9], offsets[-1]), 1) == offsets[10]


def test_a_limit_of_bytes_takes_whole_entries(client, topic):
    offsets = send(client, topic, range(100, 200), batching=False)
    whole = Range(topic, NOTHING_READ, offsets[-1])
    for bytes_max, count in ((1, 1), (3, 1), (8, 2), (9, 3), (1000, 100)):
        measured = reader(client, rows_max=7).measure(whole, Limit(None, bytes_max))
        assert (measured.end, measured.messages) == (offsets[count - 1], count)


CHUNKED = ["a0/3", "x", "b0/2", "y", "a1/3", "b1/2", "c0/2", "a2/3", "z", "c1/2"]
WHOLE = {"b1/2": "b0b1", "a2/3": "a0a1a2", "c1/2": "c0c1", "x": "x", "y": "y", "z": "z"}


def publish_chunks(broker, topic, words=CHUNKED, **options):
    publish(broker.service_url, topic, words, **options)


def places(client, topic):
    """The offset of each entry, chunks too."""
    with client.create_reader(topic, join_chunks=False) as raw:
        count = raw.last_message_id().entry_id + 1
        found = [raw.receive(10.0).message_id for _ in range(count)]
    return [Offset(one.ledger_id, one.entry_id) for one in found]


def texts(read):
    return [entry.payload.decode() for entries in read for entry in entries]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_message_in_chunks_is_read_where_its_last_one_lies(magnetar_broker, client, topic, size):
    publish_chunks(magnetar_broker, topic)
    offsets = places(client, topic)
    ends = [NOTHING_READ, *offsets[size - 1 : -1 : size], offsets[-1]]
    for after, upto in pairwise(ends):
        inside = CHUNKED[ends.index(after) and offsets.index(after) + 1 : offsets.index(upto) + 1]
        found = texts(reader(client).read(Range(topic, after, upto)))
        assert found == [WHOLE[word] for word in inside if word in WHOLE]


def test_chunks_are_found_though_producers_clocks_differ(magnetar_broker, client, topic):
    now_ms = 1_700_000_000_000
    publish_chunks(magnetar_broker, topic, ["early"], publish_time_ms=now_ms - 3_700_000)
    publish_chunks(magnetar_broker, topic, ["a0/2"], publish_time_ms=now_ms - 30_000)
    publish_chunks(magnetar_broker, topic, ["x", "a1/2"], publish_time_ms=now_ms)
    offsets = places(client, topic)
    assert texts(reader(client).read(Range(topic, offsets[2], offsets[3]))) == ["a0a1"]


def test_chunks_that_a_producer_sent_again_make_no_second_message(magnetar_broker, client, topic):
    publish_chunks(magnetar_broker, topic, ["a0/2", "a1/2", "x", "a1/2", "y"])
    offsets = places(client, topic)
    assert texts(reader(client).read(Range(topic, NOTHING_READ, offsets[4]))) == ["a0a1", "x", "y"]
    assert texts(reader(client).read(Range(topic, offsets[2], offsets[4]))) == ["y"]


def test_a_message_whose_first_chunk_is_gone_is_an_error(magnetar_broker, client, topic, caplog):
    publish_chunks(magnetar_broker, topic, ["x", "a1/2", "y"])
    offsets = places(client, topic)
    whole = Range(topic, offsets[0], offsets[2])
    with pytest.raises(EntryNotFound, match=r"ends at .* its first chunks are not there"):
        texts(reader(client).read(whole))
    assert texts(reader(client, fail_on_data_loss=False).read(whole)) == ["y"]
    assert "cannot be put together" in caplog.text


def test_what_begins_a_topic_without_its_first_chunk_is_left_out(magnetar_broker, client, topic):
    """Nothing was lost that this read was to bring: it begins with what is there."""
    publish_chunks(magnetar_broker, topic, ["a1/2", "x"])
    offsets = places(client, topic)
    assert texts(reader(client).read(Range(topic, NOTHING_READ, offsets[1]))) == ["x"]


def test_compressed_chunks_are_joined_before_they_are_decompressed(client, topic):
    data = random.Random(7).randbytes(6_000_000) + b"x" * 6_000_000
    with client.create_producer(
        topic, chunking=True, batching=False, compression=CompressionType.ZLIB
    ) as producer:
        producer.send(data)
    offsets = places(client, topic)
    assert len(offsets) == 2
    (entries,) = reader(client).read(Range(topic, offsets[0], offsets[1]))
    assert [entry.payload for entry in entries] == [data]


@pytest.mark.parametrize("chunked", [False, True])
def test_an_encrypted_message_is_named_at_once_and_read_with_its_key(
    magnetar_broker, client, topic, tmp_path, chunked
):
    """As a task writes it. Where it is in time may be asked without a key."""
    write_keys(tmp_path, "payroll", "other")
    encryption = Encryption(("payroll",), str(tmp_path / "{name}.public.pem"))
    values = [b"x" * 6_000_000] if chunked else [b"1", b"2"]
    with TaskProducers(
        client, 0, encryption=encryption, timeout_s=10.0, send_timeout_s=10.0
    ) as producers:
        rows = Rows(pa.RecordBatch.from_pydict({"value": pa.array(values, pa.binary())}))
        producers.send(topic, rows, len(values))
        producers.flush()
    given = {"service.url": magnetar_broker.service_url, "topic": topic, "startingTime": "0"}

    def found(name):
        key = {} if name is None else {"encryption.privateKey": str(tmp_path / name)}
        options = ReadOptions.parse({**given, **key}, streaming=False)
        reader = BatchReader(options, READ_SCHEMA)
        return [
            value
            for partition in reader.partitions()
            for batch in reader.read(partition)
            for value in batch["value"].to_pylist()
        ]

    with pytest.raises(CryptoFailed, match=r"is encrypted for payroll, and there is no key: set"):
        found(None)
    with pytest.raises(CryptoFailed, match="and not with the key of the option"):
        found("other.private.pem")
    assert found("{name}.private.pem") == values
