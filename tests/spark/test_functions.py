"""Functions in a Spark session: from YAML to results; how they are, how they end, what kills do."""

import os
import time
from contextlib import contextmanager, suppress

import psutil
import pytest
import yaml
from support.functions import CODE, configured

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import NotAllowed, NotReady
from magnetar.functions.config import FunctionConfig
from magnetar.functions.job import FunctionJob
from magnetar.functions.source import BrokerAccess
from magnetar.functions.state_topic import read_state
from magnetar.model.position import EARLIEST_MESSAGE

DOUBLE = f"""
name: doubling
py: {CODE}
className: user_code.Double
inputs: [yaml-numbers]
output: yaml-doubled
subscriptionPosition: Earliest
"""
SUMS = f"""
name: sums
py: {CODE}
className: user_code.Sum
inputs: [yaml-doubled]
output: yaml-sums
subscriptionPosition: Earliest
windowConfig:
  windowLengthCount: 5
"""


@pytest.fixture
def access(broker):
    return BrokerAccess(broker.service_url, broker.web_url)


def send(client, topic, numbers):
    with client.create_producer(topic) as producer:
        producer.send_many([OutgoingMessage(b"%d" % number) for number in numbers])


def received(client, topic, count):
    with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
        found = []
        while len(found) < count:
            messages = reader.receive_many(count, 20.0)
            assert messages, f"{len(found)} of {count} came"
            found += [int(message.data) for message in messages]
        assert not reader.has_message_available()
    return found


def test_from_yaml_to_results_numbers_are_doubled_and_summed_up(spark, spark_log, client, access):
    configs = [FunctionConfig.parse(yaml.safe_load(text)) for text in (DOUBLE, SUMS)]
    logged = spark_log.stat().st_size
    with FunctionJob(spark, configs[0], access) as doubling, FunctionJob(spark, configs[1], access):
        send(client, "yaml-numbers", range(100))
        assert received(client, "yaml-doubled", 100) == list(range(0, 200, 2))
        sums = [sum(range(2 * first, 2 * first + 10, 2)) for first in range(0, 100, 5)]
        assert received(client, "yaml-sums", 20) == sums
        with pytest.raises(NotAllowed, match="needs 1 slots of the Spark session, which has 2"):
            FunctionJob(spark, configs[0], access)
        assert doubling.running
    assert not doubling.running
    assert doubling.error is None
    assert doubling.status()[0]["numSuccessfullyProcessed"] == 100
    assert "ERROR" not in spark_log.read_text()[logged:]  # Ended, not broken off.


def test_an_instance_that_does_not_come_up_says_why(spark, access):
    with pytest.raises(NotReady, match=r"did not start: user_code\.Nothing is not found"):
        FunctionJob(spark, configured("Nothing"), access)


@contextmanager
def running(spark, config, access):
    """A function that is started again when it ends, as whoever supervises it does."""
    jobs = [FunctionJob(spark, config, access)]

    def again():
        while jobs[0].running:
            time.sleep(0.05)  # Spark notices when it reads the next time.
        jobs[0].stop()
        jobs[0] = FunctionJob(spark, config, access)

    try:
        yield jobs, again
    finally:
        jobs[0].stop()


def instance_processes(spark):
    """The workers of this Spark that run instances: they have the channel's threads."""
    java = psutil.Process(spark.sparkContext._gateway.proc.pid)
    for process in java.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "pyspark.daemon" in process.cmdline() and process.num_threads() > 2:
                yield process


KILLS = int(os.environ.get("FUNCTION_KILLS", "1"))


def test_each_message_counts_once_though_workers_are_killed(spark, client, access):
    config = configured(
        "Counting",
        name="killed",
        inputs=["killed-numbers"],
        output="killed-results",
        processingGuarantees="EFFECTIVELY_ONCE",
    )
    count = 3000 * (KILLS + 1)
    with running(spark, config, access) as (jobs, again):
        for kill in range(KILLS):
            send(client, config.input_topics[0], range(kill * 3000, (kill + 1) * 3000))
            jobs[0]._channel.wait(lambda: jobs[0].status()[0].get("numReceived", 0) > 0, 5.0)
            for process in instance_processes(spark):
                process.kill()
            again()
        send(client, config.input_topics[0], range(KILLS * 3000, count))
        assert received(client, "killed-results", count) == list(range(1, count + 1))
    assert read_state(client, config).counters() == {"all": count}
