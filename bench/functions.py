"""What a function in a Spark session does: messages a second, and how long one takes.

    python -m bench.functions [--messages N]

A broker of its own stores on disk, with a sync before each receipt (the default); sender and reader
are in this process. The function doubles numbers; ``counting`` adds to a counter, too.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from bench.machine import describe
from magnetar.client import blocking
from magnetar.functions.config import FunctionConfig
from magnetar.functions.job import FunctionJob
from magnetar.functions.source import BrokerAccess
from magnetar.spark.session import session, shut_down
from magnetar.testing.processes import BrokerProcess

MESSAGES = 100_000
ONE_BY_ONE = 500
CODE = """
def process(input):
    return input * 2


class Counting:
    def process(self, input, context):
        context.incr_counter("all", 1)
        return input * 2
"""
FUNCTIONS = (
    ("doubling", "doubling", "ATLEAST_ONCE"),
    ("doubling", "doubling", "ATMOST_ONCE"),
    ("doubling", "doubling", "EFFECTIVELY_ONCE"),
    ("counting", "doubling.Counting", "EFFECTIVELY_ONCE"),
)


@contextmanager
def running(
    spark: SparkSession,
    broker: BrokerProcess,
    folder: Path,
    which: tuple[str, str, str],
    place: int,
) -> Iterator[tuple[str, str]]:
    """A function; the topics that it goes between."""
    _, class_name, guarantees = which
    topics = f"input-{place}", f"output-{place}"
    config = FunctionConfig.parse(
        {
            "py": str(folder / "doubling.py"),
            "className": class_name,
            "name": f"function-{place}",
            "inputs": [topics[0]],
            "output": topics[1],
            "subscriptionPosition": "Earliest",
            "processingGuarantees": guarantees,
        }
    )
    with FunctionJob(spark, config, BrokerAccess(broker.service_url, broker.web_url)):
        yield topics


def measure(
    client: blocking.Client, topics: tuple[str, str], count: int
) -> tuple[float, float, float]:
    """The median and the 99th percentile of one message at a time in ms; messages a second."""
    with client.create_producer(topics[0]) as producer, client.create_reader(topics[1]) as reader:
        times = []
        for number in range(ONE_BY_ONE):
            begun = time.perf_counter()
            producer.send(b"%d" % number)
            reader.receive(30.0)
            times.append((time.perf_counter() - begun) * 1000)
        times.sort()
        begun = time.perf_counter()
        producer.enqueue([b"%d" % number for number in range(count)])
        received = 0
        while received < count:
            received += len(reader.receive_many(10_000, 30.0))
        rate = count / (time.perf_counter() - begun)
    return statistics.median(times), times[int(len(times) * 0.99)], rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=MESSAGES)
    count = parser.parse_args().messages
    print(*describe(Path.cwd()), sep="\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "doubling.py").write_text(CODE)
        settings = {"brokerDeduplicationEnabled": True}
        spark = session("bench", master="local[4]", log_level="error")
        with (
            BrokerProcess(folder / "data", settings=settings) as broker,
            blocking.Client(broker.service_url) as client,
        ):
            for place, which in enumerate(FUNCTIONS):
                with running(spark, broker, folder, which, place) as topics:
                    median, high, rate = measure(client, topics, count)
                print(
                    f"{which[0]:9} {which[2]:17} p50 {median:6.2f} ms  p99 {high:6.2f} ms  "
                    f"{rate:10,.0f} messages/s",
                    flush=True,
                )
        shut_down(spark)


if __name__ == "__main__":
    main()
