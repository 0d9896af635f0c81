"""The instances of a function as tasks of Spark: a Structured Streaming source that never ends.

An instance runs inside the task of its partition: what it processes never enters the JVM. A task
lasts as long as its instance, and the query's only micro-batch as long as its tasks: it ends when
they were told to stop. The positions are the broker's, in the function's subscription.
"""
# ruff: noqa: N802 - the names are Spark's.

import json
import pickle
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from magnetar.clock import SystemClock
from magnetar.compat.stand_in import stand_in
from magnetar.functions.config import FunctionConfig
from magnetar.functions.instance import Instance
from magnetar.functions.status_channel import ChannelAddress, StatusReporter
from magnetar.spark.client_settings import ClientSettings, Connection
from magnetar.spark.connections import client_for
from magnetar.spark.one_line import one_line

FORMAT = "magnetar-function"
OPTION = "task.secret"
"""The one option. Spark leaves out of its logs what is named so: it may hold credentials."""


@dataclass(frozen=True, slots=True)
class BrokerAccess:
    """Where the broker is, and how a function connects."""

    service_url: str
    admin_url: str | None = None
    client: ClientSettings = field(default_factory=ClientSettings)
    timeout_s: float = 60.0

    @property
    def connection(self) -> Connection:
        return Connection(self.service_url, self.timeout_s, retry_forever=True, client=self.client)


@dataclass(frozen=True, slots=True)
class FunctionTask:
    """All that an instance is told."""

    config: FunctionConfig
    broker: BrokerAccess
    redelivery_delay_s: float = 60.0

    def instance(self, instance_id: int) -> Instance:
        """An instance, with the client of this process. Raises InvalidValue."""
        stand_in()
        return Instance(
            client_for(self.broker.connection),
            self.config,
            instance_id,
            clock=SystemClock(),
            admin_url=self.broker.admin_url,
            client_settings=self.broker.client,
            redelivery_delay_s=self.redelivery_delay_s,
        )


def to_option(task: FunctionTask, channel: ChannelAddress) -> str:
    """What the source is told, as text."""
    return b64encode(pickle.dumps((task, channel))).decode()


@dataclass
class InstancePartition(InputPartition):
    """One instance."""

    instance_id: int


class FunctionSource(DataSource):
    """A row for each instance that has ended: what it has done."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return "instance int, metrics string"

    def streamReader(self, schema: StructType) -> "Instances":
        task, channel = pickle.loads(b64decode(self.options[OPTION]))  # noqa: S301 - our own.
        return Instances(task, channel)


class Instances(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans one task for each instance, and runs it."""

    def __init__(self, task: FunctionTask, channel: ChannelAddress) -> None:
        self._task = task
        self._channel = channel

    def initialOffset(self) -> dict[str, int]:
        return {"run": 0}

    def latestOffset(self, start: dict[str, int], limit: object) -> dict[str, int]:
        return {"run": 1}

    def prepareForTriggerAvailableNow(self) -> None:
        """There is one run."""

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InstancePartition]:
        return [InstancePartition(index) for index in range(self._task.config.parallelism)]

    def read(self, partition: InputPartition) -> Iterator[tuple[int, str]]:
        assert isinstance(partition, InstancePartition)
        told = run_instance(self._task, partition.instance_id, self._channel)
        yield partition.instance_id, json.dumps(told)

    def commit(self, end: dict[str, int]) -> None:
        """The broker has the positions."""

    def stop(self) -> None:
        """Nothing is open."""


def run_instance(task: FunctionTask, instance_id: int, channel: ChannelAddress) -> dict[str, Any]:
    """Run an instance until its job stops it, or is gone; what it has done."""
    with one_line():
        instance = task.instance(instance_id)

        def report() -> dict[str, Any]:
            return {"instanceId": instance_id, **instance.metrics.to_json()}

        reporter = StatusReporter(channel, report, instance.stop)
        try:
            instance.run()
        finally:
            reporter.close()
        return report()
