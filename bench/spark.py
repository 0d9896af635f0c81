"""Spark from and to topics, beside Kafka's own source and sink: one Spark, two brokers, in turn.

    python -m bench.spark                          # All cases; some minutes.
    python -m bench.spark --shape "100 B" --case read --rounds 3 --messages 500000
    python -m bench.spark --no-kafka               # Ours alone.
    python -m bench.spark --bound         # Batch reads, beside a source that has its rows.

Both brokers run with no fsync, on the same cores as Spark's ``local[2]``. Of each case the first
round warms up and is not counted; of the others the median is told.
"""

import argparse
import compileall
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from rich.progress import Progress

from bench import machine, spark_latency
from bench.broker import Magnetar
from bench.kafka_standalone import CONNECTOR_VERSION, KafkaStandalone, fetch
from bench.maven import Missing
from bench.spark_bound import Bound
from bench.spark_sides import Kafka, Ours, Shape, Side, rows
from bench.table import amount, ratio, table
from magnetar.spark.session import session, shut_down

SHAPES = [
    Shape("100 B", 100, 2_000_000),
    Shape("1 KiB", 1024, 500_000),
    Shape("keyed", 100, 1_000_000, keyed=True),  # 100 B, with a key and two properties.
]
LATENCY = "latency"
SOURCES = Path(__file__).parents[1] / "src"
LATENCY_S = 15
SETTINGS = {"defaultRetentionSizeInMB": -1, "defaultRetentionTimeInMinutes": -1}


@dataclass(slots=True)
class Place:
    """Where a case reads and writes, new in each round."""

    shape: Shape
    folder: Path
    number: int

    @property
    def source(self) -> str:
        return f"from-{self.shape.size}-{self.shape.keyed}".lower()

    @property
    def target(self) -> str:
        return f"to-{self.shape.size}-{self.shape.keyed}-{self.number}".lower()

    @property
    def checkpoint(self) -> Path:
        return self.folder / self.target


@dataclass(slots=True)
class Measured:
    """Seconds, and seconds of CPU (broker, Spark and its workers), of each round."""

    seconds: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    def per_second(self, count: int) -> float:
        return count / statistics.median(self.seconds[1:] or self.seconds)

    def cpu_us(self, count: int) -> float:
        return statistics.median(self.cpu_s[1:] or self.cpu_s) / count * 1e6


def _noop(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _write(side: Side, place: Place) -> None:
    side.write(rows(side.spark, place.shape), place.shape, place.target)


def _stream(side: Side, place: Place) -> None:
    made = side.stream(place.source).writeStream.format("noop")
    made = made.option("checkpointLocation", str(place.checkpoint))
    made.trigger(availableNow=True).start().awaitTermination()


def _copy(side: Side, place: Place) -> None:
    copied = side.copied(side.stream(place.source), place.shape)
    made = side.sink(copied, place.target, place.checkpoint)
    made.trigger(availableNow=True).start().awaitTermination()


CASES: dict[str, Callable[[Side, Place], None]] = {
    "range to topic": _write,
    "batch read to noop": lambda side, place: _noop(side.read(place.source)),
    "batch read to noop, values alone": lambda side, place: _noop(side.values(place.source)),
    "available-now stream to noop": _stream,
    "topic to topic": _copy,
}


def cpu_s(side: Side) -> float:
    """CPU used so far by a side's broker, by Spark, and by Spark's Python workers."""
    gateway = SparkContext._gateway  # noqa: SLF001 - there is no public way to the process
    assert gateway is not None, "Spark runs"
    java = psutil.Process(gateway.proc.pid)
    used = side.broker.cpu_s()
    for process in [java, *java.children(recursive=True)]:
        try:
            used += sum(process.cpu_times()[:4])  # With its children that have ended.
        except psutil.NoSuchProcess:
            continue
    return used


def run(
    sides: Sequence[Side], shapes: Sequence[Shape], cases: Sequence[str], folder: Path, rounds: int
) -> Iterator[list[str]]:
    """The lines of the table. Sides take turns."""
    numbers = iter(range(1_000_000))
    wanted = [name for name in CASES if any(case in name for case in cases)]
    with Progress(transient=True) as progress:
        shown = progress.add_task("", total=len(shapes) * len(sides) * (len(wanted) * rounds + 1))
        for shape in shapes:
            for side in sides:
                progress.update(shown, description=f"{shape.name}: filling {side.name}", advance=1)
                source = Place(shape, folder, next(numbers)).source
                side.write(rows(side.spark, shape), shape, source)
            for case in wanted:
                found = [Measured() for _ in sides]
                for _ in range(rounds):
                    for side, into in zip(sides, found, strict=True):
                        progress.update(
                            shown, description=f"{shape.name}: {case}, {side.name}", advance=1
                        )
                        place = Place(shape, folder / side.name, next(numbers))
                        used, began = cpu_s(side), time.perf_counter()
                        CASES[case](side, place)
                        into.seconds.append(time.perf_counter() - began)
                        into.cpu_s.append(cpu_s(side) - used)
                line = _line(shape, case, found)
                progress.console.print(*line, sep="  ", highlight=False, soft_wrap=True)
                yield line


def _line(shape: Shape, case: str, found: Sequence[Measured]) -> list[str]:
    rates = [each.per_second(shape.count) for each in found]
    cells = [case, shape.name, *map(amount, rates)]
    cells += [f"{rates[0] * shape.size / 1e6:.0f}"]
    if len(found) > 1:
        cells += [ratio(*rates)]
    return [*cells, " / ".join(f"{each.cpu_us(shape.count):.2f}" for each in found)]


def latencies(sides: Sequence[Side], folder: Path) -> list[list[str]]:
    lines = []
    for side in sides:
        told = spark_latency.measured(side, folder, LATENCY_S)
        numbers = [f"{each:.0f}" for each in (told.p50_ms, told.p99_ms, told.batch_p50_ms)]
        lines.append([side.name, *numbers, f"{told.count:,}"])
    return lines


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shape", action="append", choices=[each.name for each in SHAPES])
    parser.add_argument("--case", action="append", help=f"only such cases, or {LATENCY}")
    parser.add_argument("--messages", type=int, help="how many messages, in the place of ours")
    parser.add_argument("--rounds", type=int, default=4, help="the first one warms up")
    parser.add_argument("--no-kafka", action="store_true", help="ours alone")
    parser.add_argument("--bound", action="store_true", help="batch reads, beside the bound")
    parser.add_argument("--folder", type=Path, help="where data goes")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    shapes = [each for each in SHAPES if not given.shape or each.name in given.shape]
    shapes = [replace(each, count=given.messages or each.count) for each in shapes]
    compileall.compile_dir(SOURCES, quiet=2)  # As of an installed package: workers import it.
    with ExitStack() as exit_stack:
        folder = Path(exit_stack.enter_context(tempfile.TemporaryDirectory(dir=given.folder)))
        settings = {"spark.log.level": "ERROR"}
        kafka = None
        if not given.no_kafka and not given.bound:
            try:
                jars, connector = fetch()
                settings["spark.jars"] = ",".join(map(str, connector))
                kafka = exit_stack.enter_context(KafkaStandalone(jars, folder / "kafka"))
            except Missing as error:
                print(f"without Kafka, which cannot be had here: {error}")
        broker = exit_stack.enter_context(Magnetar(folder, "none", settings=SETTINGS))
        spark = session("bench", master="local[2]", settings=settings, log_level="error")
        exit_stack.callback(shut_down, spark)
        sides = _sides(spark, broker, kafka)
        if given.bound:
            sides.append(Bound(spark, broker))
        for side in sides:
            (folder / side.name).mkdir()
        print("\n".join(machine.describe(folder)))
        print(f"Spark        {spark.version}, local[2]; {' beside '.join(_names(sides))}\n")
        cases = ["batch read"] if given.bound else given.case or ["", LATENCY]
        _report(sides, shapes, cases, folder, given.rounds)
    return 0


def _sides(spark: SparkSession, broker: Magnetar, kafka: KafkaStandalone | None) -> list[Side]:
    ours: list[Side] = [Ours(spark, broker)]
    return ours if kafka is None else [*ours, Kafka(spark, kafka)]


def _names(sides: Sequence[Side]) -> list[str]:
    return [
        each.broker.name + (f" (connector {CONNECTOR_VERSION})" if each.name == "Kafka" else "")
        for each in sides
    ]


def _report(
    sides: Sequence[Side], shapes: Sequence[Shape], cases: Sequence[str], folder: Path, rounds: int
) -> None:
    names = [each.name for each in sides]
    heads = ["case", "messages", *(f"{name}, rows/s" for name in names), f"{names[0]}, MB/s"]
    heads += ["ratio"] if len(names) > 1 else []
    heads += [f"CPU us/row, {' / '.join(names)}"]
    throughput = [case for case in cases if case != LATENCY]
    if throughput:
        print(table(heads, list(run(sides, shapes, throughput, folder, rounds)), (0, 1)))
    if LATENCY in cases:
        print(f"\nTopic to topic in micro-batches, {spark_latency.RATE:,} messages a second, ms")
        heads = ["", "end to end p50", "p99", "micro-batch p50", "messages"]
        print(table(heads, latencies(sides, folder)))


if __name__ == "__main__":
    sys.exit(main())
