"""The two connectors that ``bench.spark`` measures, behind one set of calls."""

import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from bench.broker import Broker
from bench.kafka_standalone import KafkaStandalone


@dataclass(frozen=True, slots=True)
class Shape:
    """What the messages are: sizes vary by 30 % around ``size``."""

    name: str
    size: int
    count: int
    keyed: bool = False  # They have a key of 1,000, and two properties of sizes that vary.


def rows(spark: SparkSession, shape: Shape) -> DataFrame:
    """``value``, and for shapes that have them ``key``, and the texts ``trace`` and ``kind``."""
    letters = "".join(chr(97 + number * 7919 % 26) for number in range(2 * shape.size))
    least, spread = shape.size * 7 // 10, shape.size * 6 // 10
    made = [f"binary(substring('{letters}', 1 + id % 97, {least} + hash(id) % {spread})) AS value"]
    made[0] = made[0].replace("hash(id)", "abs(hash(id))")
    if shape.keyed:
        made += [
            "string(abs(hash(id)) % 1000) AS key",
            f"substring('{letters}', 1, id % 40) AS trace",
            "concat('k', id % 7) AS kind",
        ]
    return spark.range(shape.count).selectExpr(*made)


class Side(ABC):
    """One connector and its broker."""

    name: str
    format: str
    value_and_time: tuple[str, ...]  # Of a stream: columns that carry the time of the message.
    latency_ms: str  # Of what those became.

    def __init__(self, spark: SparkSession, broker: Broker) -> None:
        self.spark = spark
        self.broker = broker

    @abstractmethod
    def options(self, topic: str, *, writes: bool) -> dict[str, str]:
        """Where a topic is."""

    @abstractmethod
    def written(self, frame: DataFrame, shape: Shape) -> DataFrame:
        """``rows`` with the columns of the sink."""

    @abstractmethod
    def copied(self, frame: DataFrame, shape: Shape) -> DataFrame:
        """What a read gave, with the columns of the sink."""

    @abstractmethod
    def values(self, topic: str) -> DataFrame:
        """A batch read of the values alone."""

    @abstractmethod
    def publish(self, topic: str, rate: int, seconds: int, size: int) -> "subprocess.Popen[bytes]":
        """A process that publishes so many messages a second."""

    def read(self, topic: str) -> DataFrame:
        options = self.options(topic, writes=False)
        return self.spark.read.format(self.format).options(**options).load()

    def stream(self, topic: str, start: str = "earliest") -> DataFrame:
        options = {**self.options(topic, writes=False), "startingOffsets": start}
        return self.spark.readStream.format(self.format).options(**options).load()

    def write(self, frame: DataFrame, shape: Shape, topic: str) -> None:
        options = self.options(topic, writes=True)
        made = self.written(frame, shape).write.format(self.format).options(**options)
        made.mode("append").save()

    def sink(self, frame: DataFrame, topic: str, checkpoint: Path) -> DataStreamWriter:
        options = {**self.options(topic, writes=True), "checkpointLocation": str(checkpoint)}
        return frame.writeStream.format(self.format).options(**options)


class Ours(Side):
    name = "Magnetar"
    format = "pulsar"
    value_and_time = ("value", "publish_time AS event_time")
    latency_ms = "unix_millis(publish_time) - unix_millis(event_time)"

    def options(self, topic: str, *, writes: bool) -> dict[str, str]:
        return {"service.url": self.broker.url, "topic": topic}

    def written(self, frame: DataFrame, shape: Shape) -> DataFrame:
        if not shape.keyed:
            return frame
        return frame.selectExpr("value", "key", "map('trace', trace, 'kind', kind) AS properties")

    def copied(self, frame: DataFrame, shape: Shape) -> DataFrame:
        return frame.select(*(["value", "key", "properties"] if shape.keyed else ["value"]))

    def values(self, topic: str) -> DataFrame:
        reader = self.spark.read.format(self.format).schema("value binary")
        return reader.options(**self.options(topic, writes=False)).load()

    def publish(self, topic: str, rate: int, seconds: int, size: int) -> "subprocess.Popen[bytes]":
        numbers = [str(number) for number in (rate, seconds, size)]
        command = [sys.executable, "-m", "bench.spark_latency", self.broker.url, topic, *numbers]
        return subprocess.Popen(command)


class Kafka(Side):
    name = "Kafka"
    format = "kafka"
    value_and_time = ("string(unix_millis(timestamp)) AS value",)
    latency_ms = "unix_millis(timestamp) - bigint(string(value))"

    def options(self, topic: str, *, writes: bool) -> dict[str, str]:
        names = {"topic": topic} if writes else {"subscribe": topic, "includeHeaders": "true"}
        return {"kafka.bootstrap.servers": self.broker.url, **names}

    def written(self, frame: DataFrame, shape: Shape) -> DataFrame:
        if not shape.keyed:
            return frame
        headers = ", ".join(
            f"named_struct('key', '{name}', 'value', binary({name}))" for name in ("trace", "kind")
        )
        return frame.selectExpr("value", "key", f"array({headers}) AS headers")

    def copied(self, frame: DataFrame, shape: Shape) -> DataFrame:
        return frame.select(*(["value", "key", "headers"] if shape.keyed else ["value"]))

    def values(self, topic: str) -> DataFrame:
        return self.read(topic).select("value")

    def publish(self, topic: str, rate: int, seconds: int, size: int) -> "subprocess.Popen[bytes]":
        assert isinstance(self.broker, KafkaStandalone)
        command = self.broker.java(
            "org.apache.kafka.tools.ProducerPerformance",
            *("--topic", topic, "--num-records", str(rate * seconds)),
            *("--record-size", str(size), "--throughput", str(rate)),
            *("--producer-props", f"bootstrap.servers={self.broker.url}"),
        )
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
