"""How long a message takes from one topic to another through a micro-batch of Spark.

python -m bench.spark_latency URL TOPIC RATE SECONDS SIZE    # Publish at a rate, steadily.
"""

import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from bench.spark_sides import Side
from magnetar.client import blocking

RATE = 1_000
SIZE = 100
WARM_UP_S = 8
TICK_S = 0.005
TRIGGERS = {"processingTime": "0 seconds"}


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds: from the publish time of a message read to that of the one written for it."""

    p50_ms: float
    p99_ms: float
    batch_p50_ms: float  # What Spark says a micro-batch takes.
    count: int


def measured(side: Side, folder: Path, seconds: int) -> Latency:
    """Run a query from topic to topic for so long, and look at what it wrote."""
    source, target = f"latency-in-{seconds}", f"latency-out-{seconds}"
    side.publish(source, 100, 1, SIZE).wait()
    frame = side.stream(source).selectExpr(*side.value_and_time)
    query = side.sink(frame, target, folder / f"latency-{side.name}").trigger(**TRIGGERS).start()
    publisher = None
    try:
        query.processAllAvailable()
        publisher = side.publish(source, RATE, WARM_UP_S + seconds, SIZE)
        publisher.wait(4 * (WARM_UP_S + seconds))
        query.processAllAvailable()
        batches = [
            each["durationMs"]["triggerExecution"]
            for each in query.recentProgress
            if each["numInputRows"]
        ]
    finally:
        if publisher is not None and publisher.poll() is None:
            publisher.terminate()
        query.stop()
    found = [row[0] for row in side.read(target).selectExpr(side.latency_ms).collect()]
    counted = sorted(found[-RATE * seconds :])
    return Latency(
        statistics.median(counted),
        counted[len(counted) * 99 // 100],
        statistics.median(batches),
        len(counted),
    )


def main(arguments: list[str]) -> None:
    url, topic = arguments[:2]
    rate, seconds, size = map(int, arguments[2:])
    with (
        blocking.Client(url) as client,
        client.create_producer(topic, batch_delay_s=0.001) as producer,
    ):
        began = time.perf_counter()
        sent = 0
        while sent < rate * seconds:
            due = min(int((time.perf_counter() - began) * rate) + 1, rate * seconds)
            for _ in range(due - sent):
                producer.send_nowait(bytes(size))
            sent = due
            time.sleep(TICK_S)
        producer.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
