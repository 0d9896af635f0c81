"""One Spark for all tests here, and a broker in this process. Each test has topics of its own."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.apache_pulsar import WITH_PULSAR, apache_pulsar
from support.spark_python import forking_python

from magnetar.client import blocking
from magnetar.spark.session import session, shut_down
from magnetar.testing.local_broker import BrokerThread

# Tests are over before better compiled code would pay for its compilation; and Spark's own code is
# taken for verified.
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS",
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
)
os.environ.setdefault("SPARK_LAUNCHER_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

SETTINGS = {
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    # A few rows are not worth the Java that would be generated and compiled for each query.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
}
BROKER_SETTINGS = {  # As what writes exactly once wants it.
    "brokerDeduplicationEnabled": True,
    "transactionCoordinatorEnabled": True,
}

PULSAR_SETTINGS = (
    "brokerDeduplicationEnabled=true\nbrokerDeleteInactiveTopicsEnabled=false\n"
    "transactionCoordinatorEnabled=true\n"
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/spark/"):
            item.add_marker(pytest.mark.spark)
            if item.get_closest_marker("timeout") is None:
                # One that is over spoils the session for all: Py4J reads on in half an answer.
                item.add_marker(pytest.mark.timeout(200))


@pytest.fixture(scope="session")
def spark_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What Spark logs and prints, as to a terminal."""
    return tmp_path_factory.mktemp("spark") / "spark.log"


@pytest.fixture(scope="session")
def spark(spark_log: Path) -> Iterator[SparkSession]:
    ctrl_c = signal.getsignal(signal.SIGINT)
    with forking_python(spark_log.parent) as python:
        with pytest.MonkeyPatch.context() as only_here:
            for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
                only_here.setenv(name, python)
            running = session("tests", master="local[2]", settings=SETTINGS, log_file=spark_log)
        signal.signal(signal.SIGINT, ctrl_c)  # Spark's handler would talk to a Spark that is gone.
        yield running
        shut_down(running)


@pytest.fixture(scope="session")
def broker(request, tmp_path_factory):
    """It has ``service_url`` and ``web_url``: our own, or Apache Pulsar."""
    if WITH_PULSAR:
        with apache_pulsar(request, tmp_path_factory.mktemp("pulsar"), PULSAR_SETTINGS) as pulsar:
            yield pulsar
    else:
        with BrokerThread(settings=BROKER_SETTINGS) as ours:
            yield ours


@pytest.fixture
def client(broker) -> Iterator[blocking.Client]:
    with blocking.Client(broker.service_url) as connected:
        yield connected


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return f"persistent://public/default/{request.node.name.replace('[', '-').replace(']', '')}"


class Stream:
    """A copy of ``topic`` to ``topic-copy`` that can be run as often as one likes."""

    def __init__(self, spark, broker, topic, checkpoint):
        self._spark, self._broker, self._topic = spark, broker, topic
        self._checkpoint = checkpoint
        self.copy = f"{topic}-copy"

    def query(self, *, available_now=True, **options):
        reader = self._spark.readStream.format("pulsar").schema("key binary, value binary")
        reader = reader.option("service.url", self._broker.service_url)
        frame = reader.options(**{"topic": self._topic, "startingOffsets": "earliest", **options})
        writer = frame.load().writeStream.format("pulsar").option("topic", self.copy)
        writer = writer.option("service.url", self._broker.service_url)
        writer = writer.option("checkpointLocation", str(self._checkpoint))
        if available_now:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime="100 milliseconds").start()

    def run(self, **options):
        """Everything that is there now; the progress of the micro-batches that had something."""
        query = self.query(**options)
        query.awaitTermination(90)
        assert query.exception() is None
        return [one for one in query.recentProgress if one["numInputRows"]]


@pytest.fixture
def stream(spark, broker, topic, tmp_path):
    return Stream(spark, broker, topic, tmp_path / "checkpoint")
