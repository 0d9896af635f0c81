"""What was offloaded and what was not is read as one topic, exactly."""

from dataclasses import dataclass

import pytest
from offload.conftest import SETTINGS
from pyspark.errors import PySparkException
from support.admin import ask

from magnetar.client import blocking
from magnetar.schemas import avro
from magnetar.spark.history import history
from magnetar.testing.local_broker import BrokerThread

TOPIC = "persistent/public/default/sales"
TYPED = "persistent/public/default/typed"


@dataclass
class Order:
    id: int
    customer: str


def offload(broker, topic, last):
    place = {"ledgerId": last.ledger_id, "entryId": 0}
    ask(broker, "PUT", f"{topic}/offload", place)
    while ask(broker, "GET", f"{topic}/offload")["status"] == "RUNNING":
        pass


@pytest.fixture(scope="module")
def offloaded(tmp_path_factory):
    """A broker with 45 messages: four ledgers in files alone, and five messages behind them."""
    folder = tmp_path_factory.mktemp("history")
    settings = {**SETTINGS, "fileSystemURI": (folder / "tiered").as_uri()}
    with BrokerThread(folder / "broker", settings=settings) as broker:
        with (
            blocking.Client(broker.service_url) as client,
            client.create_producer("sales") as producer,
        ):
            for number in range(45):
                last = producer.send(b"%d" % number, key=f"k{number % 3}")
            offload(broker, TOPIC, last)
            with client.create_producer("typed", schema=avro.AvroSchema(Order)) as orders:
                sent = [Order(number, f"ann {number}") for number in range(25)]
                last = [orders.send(order) for order in sent][-1]
            offload(broker, TYPED, last)
        yield broker


def read(spark, broker, **options):
    given = {"service.url": broker.service_url, "topic": "sales", **options}
    if "history" in options:
        given["admin.url"] = broker.web_url
    return spark.read.format("pulsar").options(**given).load()


@pytest.mark.parametrize("how", [{"schema": "registry"}, {"columns": "pulsar-spark"}])
def test_files_have_values_of_types_and_other_columns(spark, offloaded, how):
    typed = read(spark, offloaded, topic="typed", **how)
    stitched = read(spark, offloaded, topic="typed", history="auto", **how)
    assert stitched.schema == typed.schema
    field = "value.customer" if "schema" in how else "customer"
    found = stitched.select(field).collect()
    assert sorted(found) == sorted(typed.select(field).collect())
    assert {row.customer for row in found} == {f"ann {number}" for number in range(25)}
    tasks = stitched.selectExpr("spark_partition_id()").distinct()
    assert tasks.count() == 3, "a file each, and the rest"


def test_a_stream_reads_files(spark, offloaded, tmp_path):
    given = {"service.url": offloaded.service_url, "admin.url": offloaded.web_url}
    given |= {"topic": "sales", "startingOffsets": "earliest", "history": "auto"}
    stream = spark.readStream.format("pulsar").options(**given, maxMessagesPerTrigger="25").load()
    found = []

    def take(rows, _number):
        values = rows.selectExpr("value", "spark_partition_id() as task").collect()
        found.append(([int(row.value) for row in values], len({row.task for row in values})))

    query = stream.writeStream.foreachBatch(take).trigger(availableNow=True)
    query.start(checkpointLocation=str(tmp_path)).awaitTermination(90)
    assert [(sorted(values), tasks) for values, tasks in found] == [
        (list(range(25)), 3),
        (list(range(25, 45)), 3),
    ]


def test_files_and_the_tail_are_one_topic(spark, offloaded):
    copies = [
        each.get("copy") for each in ask(offloaded, "GET", f"{TOPIC}/internalStats")["ledgers"]
    ]
    assert [copy is not None for copy in copies] == [True] * 4 + [False]
    through_broker = read(spark, offloaded).collect()
    stitched = read(spark, offloaded, history="auto")
    assert stitched.schema == read(spark, offloaded).schema
    assert sorted(stitched.collect()) == sorted(through_broker)
    assert len(through_broker) == 45
    tasks = stitched.selectExpr("spark_partition_id()").distinct()
    assert tasks.count() == 5, "a file each, and the rest"


def test_a_part_of_the_topic_is_exact_too(spark, offloaded):
    ids = [row.message_id for row in sorted(read(spark, offloaded).collect(), key=place_of)]
    start, end = (
        f'{{"sales": "{i.ledger_id}:{i.entry_id}:{i.batch_index}"}}' for i in (ids[4], ids[42])
    )
    frame = read(spark, offloaded, history="auto", startingOffsets=start, endingOffsets=end)
    rows = frame.select("value", "key").collect()
    assert sorted(int(row.value) for row in rows) == list(range(5, 43))
    assert {bytes(row.key) for row in rows} == {b"k0", b"k1", b"k2"}


def test_spark_itself_reads_the_files(spark, offloaded):
    given = {"service.url": offloaded.service_url, "admin.url": offloaded.web_url, "topic": "sales"}
    frame = history(spark, given)
    assert frame.schema == read(spark, offloaded).schema
    assert frame.count() == 45
    assert sorted(frame.collect()) == sorted(read(spark, offloaded).collect())
    assert "parquet" in frame._jdf.queryExecution().toString()
    nothing = history(spark, {**given, "endingOffsets": "earliest"})
    assert (nothing.count(), nothing.schema) == (0, frame.schema)


def place_of(row):
    return tuple(row.message_id)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"history": "all"}, "history is 'all': it is auto, or none"),
        ({"history": "auto", "admin.url": ""}, "set it to where the admin API is"),
    ],
)
def test_what_cannot_be_is_refused(spark, offloaded, options, said):
    given = {"service.url": offloaded.service_url, "topic": "sales"}
    given |= {"admin.url": offloaded.web_url, **options}
    with pytest.raises(PySparkException, match=said):
        spark.read.format("pulsar").options(**given).load().collect()
