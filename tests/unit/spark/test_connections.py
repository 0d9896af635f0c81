# Uses a thread: a broker starts again while a planner waits for it.
import logging
import os
import subprocess
import sys
from contextlib import ExitStack
from threading import Timer

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from magnetar.client import blocking
from magnetar.errors import MagnetarError
from magnetar.spark.client_settings import ClientSettings, Connection
from magnetar.spark.connections import client_for, show_warnings
from magnetar.spark.read_options import ReadOptions
from magnetar.spark.schema import READ_SCHEMA
from magnetar.spark.stream_reader import StreamReader
from magnetar.testing.local_broker import BrokerThread

pytestmark = pytest.mark.slow


def connection(broker, timeout_s=5.0, **settings):
    given = {f"pulsar.client.{name}": text for name, text in settings.items()}
    return Connection(
        broker.service_url, timeout_s, retry_forever=False, client=ClientSettings.parse(given)
    )


def test_a_process_has_one_client_per_kind_of_connection(magnetar_broker):
    first = client_for(connection(magnetar_broker))
    assert client_for(connection(magnetar_broker)) is first
    assert client_for(connection(magnetar_broker, 6.0)) is not first
    assert client_for(connection(magnetar_broker, connectionsPerBroker="2")) is not first


def test_a_forked_process_gets_a_client_of_its_own(magnetar_broker, monkeypatch):
    first = client_for(connection(magnetar_broker))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert client_for(connection(magnetar_broker)) is not first


@pytest.fixture
def away(tmp_path, topic):
    """A stream that has begun, and its broker, which has ended."""
    with BrokerThread(tmp_path / "data") as broker:
        with blocking.Client(broker.service_url) as client:
            client.create_producer(topic).send(b"first")

        def stream(**given):
            given |= {"service.url": broker.service_url, "topic": topic}
            return StreamReader(ReadOptions.parse(given, streaming=True), READ_SCHEMA)

        stream(startingOffsets="earliest").initialOffset()
    return stream


def test_a_broker_that_is_away_is_waited_for_so_long_in_each_call(away, topic):
    with pytest.raises(MagnetarError):
        away(timeoutSeconds="0.5").latestOffset({topic: "-1:-1:-1"}, ReadAllAvailable())


@pytest.mark.parametrize("given", [{"timeoutSeconds": "20"}, {"retryForever": "true"}])
def test_a_stream_goes_on_when_its_broker_is_back(away, tmp_path, topic, given):
    stream = away(**{"timeoutSeconds": "0.5", **given})
    port = int(stream._options.service_url.rpartition(":")[2])
    start = {topic: "-1:-1:-1"}
    with ExitStack() as stack:
        again = BrokerThread(tmp_path / "data", settings={"brokerServicePort": port})
        starting = Timer(1.5, stack.enter_context, [again])
        starting.start()
        end = stream.latestOffset(start, ReadAllAvailable())
        (partition,) = stream.partitions(start, end)
        assert [batch.num_rows for batch in stream.read(partition)] == [1]
        stream.stop()
        starting.join()


WORKER = """\
import logging, magnetar.client, sys
from magnetar.spark import connections
connections.in_worker = lambda: True
if sys.argv[1:]:
    logging.basicConfig(format="theirs %(message)s")
for _ in range(2):
    connections.show_warnings()
logging.getLogger("magnetar.spark").warning("lost")
logging.getLogger("magnetar.spark").info("fine")
"""


def printed(*arguments):
    command = [sys.executable, "-c", WORKER, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


def test_a_worker_prints_what_we_warn_of_once():
    (line,) = printed().splitlines()
    assert line.endswith(" WARN magnetar: lost")


def test_who_has_set_up_logging_keeps_it():
    assert printed("theirs") == "theirs lost\n"


def test_other_processes_print_nothing():
    before = list(logging.getLogger("magnetar").handlers)
    show_warnings()
    assert logging.getLogger("magnetar").handlers == before
