"""What the session does for its user, seen in the one that all tests here share."""

import threading
from concurrent.futures import ThreadPoolExecutor

import magnetar.spark
from magnetar.spark.session import activate

PUT_BY_EACH_START = (
    "SPARK_LOCAL_DIRS",
    "SPARK_AUTH_SOCKET_TIMEOUT",
    "SPARK_BUFFER_SIZE",
    "SPARK_PYTHON_RUNTIME",
)


def test_who_asks_again_has_the_session_that_runs(spark):
    assert magnetar.spark.session("another name") is spark


def test_several_first_queries_start_at_once_in_threads_of_their_own(
    spark, broker, client, topic, tmp_path
):
    with client.create_producer(topic) as producer:
        producer.send_many([b"one", b"two"])
    at = {"service.url": broker.service_url}
    together = threading.Barrier(3)

    def copy(number):
        activate(spark)
        frame = spark.readStream.format("pulsar").options(
            **at, topic=topic, startingOffsets="earliest"
        )
        writer = frame.load().writeStream.format("pulsar").options(**at, topic=f"{topic}-copy")
        writer = writer.option("checkpointLocation", str(tmp_path / str(number)))
        together.wait(30)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination(60)
        return sum(one["numInputRows"] for one in query.recentProgress)

    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(copy, range(3))) == [2, 2, 2]


def test_what_each_start_puts_into_the_map_of_a_format_is_there_before(spark):
    state = spark._jsparkSession.sessionState()
    variables = state.dataSourceManager().lookupDataSource("pulsar").dataSourceCls().envVars()
    kept = {name: variables.remove(name) for name in PUT_BY_EACH_START}
    magnetar.spark.session("again")
    assert {name for name in kept if variables.get(name)} == set(PUT_BY_EACH_START)


def test_a_normal_start_and_normal_queries_print_nothing(spark, spark_log, tmp_path):
    source = spark.readStream.format("rate").load()
    writer = source.writeStream.format("noop").option("checkpointLocation", str(tmp_path))
    writer.trigger(availableNow=True).start().awaitTermination(30)
    said = spark_log.read_text()
    for needless in ("NativeCodeLoader", "incubator", "ResolveWriteToStream"):
        assert needless not in said
