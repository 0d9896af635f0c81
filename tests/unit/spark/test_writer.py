from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql.types import StructType

from magnetar.client import blocking
from magnetar.errors import MagnetarError, NotAllowed
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.model.schemas import SchemaType
from magnetar.spark import transactional_writer
from magnetar.spark.transactional_writer import TransactionalBatchWriter
from magnetar.spark.write_options import WriteOptions
from magnetar.spark.writer import BatchWriter, StreamWriter, TextSchema, Written
from magnetar.testing.processes import BrokerProcess

SCHEMA = StructType().add("value", "string")


@pytest.fixture
def options(magnetar_broker, topic):
    return WriteOptions.parse(
        {"service.url": magnetar_broker.service_url, "topic": topic}, streaming=False
    )


def rows(numbers):
    return pa.RecordBatch.from_pydict({"value": [str(number) for number in numbers]})


@pytest.mark.parametrize("kind", [BatchWriter, StreamWriter])
def test_a_task_writes_all_its_rows_and_says_how_many(client, options, topic, kind):
    there = cloudpickle.loads(cloudpickle.dumps(kind(options, SCHEMA)))
    said = there.write(iter([rows(range(100)), rows(range(100, 150))]))
    assert cloudpickle.loads(cloudpickle.dumps(said)) == Written({topic: 150})
    with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
        found = []
        while reader.has_message_available():
            found += [int(message.data) for message in reader.receive_many(1000, 10.0)]
    assert found == list(range(150))


def test_a_task_without_rows_writes_nothing(options):
    assert StreamWriter(options, SCHEMA).write(iter([])) == Written({})


def test_a_row_that_cannot_be_written_fails_the_task(options):
    nothing = pa.RecordBatch.from_pydict({"value": pa.array([None], pa.string())})
    with pytest.raises(MagnetarError, match="no value"):
        StreamWriter(options, SCHEMA).write(iter([nothing]))


def test_a_task_gives_so_much_to_the_driver_and_no_more(options, monkeypatch):
    writer = TransactionalBatchWriter(options, SCHEMA)
    writer.write(iter([rows(range(100))]))
    monkeypatch.setattr(transactional_writer, "TASK_BYTES_MAX", 100)
    with pytest.raises(MagnetarError, match="use more partitions"):
        writer.write(iter([rows(range(100))]))


def test_a_commit_has_nothing_left_to_do_but_notices_a_continuous_trigger(options):
    writer = StreamWriter(options, SCHEMA)
    writer.commit([Written({"t": 1})], 0)
    with pytest.raises(NotAllowed, match="processingTime"):
        writer.commit([None], 1)


def test_a_topic_that_keeps_nothing_is_named_once(magnetar_broker, topic, caplog):
    there = {"service.url": magnetar_broker.service_url, "admin.url": magnetar_broker.web_url}
    for name in (topic, topic, f"{topic}-kept"):
        options = WriteOptions.parse({**there, "topic": name}, streaming=False)
        if name != topic:
            with blocking.Client(magnetar_broker.service_url) as client:
                client.subscribe(name, "s").close()
        writer = BatchWriter(options, SCHEMA)
        writer.commit([writer.write(iter([rows(range(3))]))])
    (said,) = [each.getMessage() for each in caplog.records if "not_kept" in each.getMessage()]
    assert f"topic={topic}:" in said


def test_text_is_told_of_and_left_as_it_is():
    schema = TextSchema()
    assert schema.info.type is SchemaType.STRING
    assert schema.decode(schema.encode("ü".encode())) == "ü".encode()


def test_a_broker_that_is_away_is_waited_for_without_end_where_that_is_wanted(tmp_path, topic):
    broker = BrokerProcess(tmp_path / "data")

    def write(**more):
        given = {"service.url": broker.service_url, "topic": topic, "timeoutSeconds": "1", **more}
        options = WriteOptions.parse(given, streaming=False)
        return BatchWriter(options, SCHEMA).write(iter([rows(range(3))]))

    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(write, retryForever="true")
        with pytest.raises(MagnetarError):
            write()
        with broker:
            assert waiting.result(60) == Written({topic: 3})
