"""A function as a Structured Streaming query of a Spark session: start it, see how it is, stop it.

Many functions share a session; each instance takes one of its slots as long as it runs.
"""

import re
import secrets
import shutil
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Self

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from magnetar.errors import NotAllowed, NotReady
from magnetar.functions.config import FunctionConfig
from magnetar.functions.source import (
    FORMAT,
    OPTION,
    BrokerAccess,
    FunctionSource,
    FunctionTask,
    to_option,
)
from magnetar.functions.status_channel import StatusChannel
from magnetar.spark.session import activate

_STOP_TIMEOUT_S: Final = 10.0
_START_TIMEOUT_S: Final = 120.0
_starting = threading.Lock()
"""Spark 4.3 may break a session in which several queries of one format start first at one time:
the first one starts alone."""
_slots_lock = threading.Lock()
_slots_taken: dict[str, int] = {}
"""By the application's id."""
_registered: set[str] = set()
"""The sessions that know the format."""


class FunctionJob:
    """A function that was started. Stop it; what it was doing then is done first."""

    def __init__(
        self,
        spark: SparkSession,
        config: FunctionConfig,
        broker: BrokerAccess,
        *,
        redelivery_delay_s: float = 60.0,
    ) -> None:
        """Returns when all instances run. From any thread.

        ``redelivery_delay_s`` is how long it takes until a message that failed comes again.
        Raises NotAllowed when the session has no slots left, NotReady when an instance does not
        come up, with the cause.
        """
        self.config = config
        self._spark = spark
        self._application = spark.sparkContext.applicationId or ""
        task = FunctionTask(config, broker, redelivery_delay_s)
        self._stopped = False
        self._take_slots()
        host = spark.conf.get("spark.driver.host", "127.0.0.1") or "127.0.0.1"
        local = (spark.sparkContext.master or "").startswith("local")
        self._channel = StatusChannel(secrets.token_bytes(32), "127.0.0.1" if local else host)
        self._checkpoint = tempfile.mkdtemp(prefix="magnetar-function-")
        try:
            self._start(task)
            self._wait_for_instances()
        except BaseException:
            self.stop()
            raise

    @property
    def running(self) -> bool:
        """Whether all instances run."""
        return self.query.isActive and all(map(self._channel.running, self._instance_ids))

    @property
    def error(self) -> str | None:
        """What ended it, in a line; None while it goes on, and when it was stopped."""
        exception = None if self._stopped else self.query.exception()
        return None if exception is None else cause_of(exception)

    def status(self) -> list[Mapping[str, Any]]:
        """The status of each instance, as Apache Pulsar's; counted since the instance began."""
        return [
            {"running": self._channel.running(each), **self._channel.report(each)}
            for each in self._instance_ids
        ]

    def wait(self, timeout_s: int | None = None) -> bool:
        """Return when it has ended, also by ``stop``; False when the seconds are up first.

        Raises StreamingQueryException where ``error`` says why it ended.
        """
        return self.query.awaitTermination(timeout_s) is not False

    def stop(self) -> None:
        """Have the instances finish what they are at, and end the query. May be called again."""
        if self._stopped:
            return
        self._stopped = True
        ended = self._channel.stop_instances(_STOP_TIMEOUT_S)
        query = getattr(self, "query", None)
        if query is not None:
            if ended:  # Then the query ends by itself; stopped, it would log what it breaks off.
                with suppress(StreamingQueryException):
                    query.awaitTermination(int(_STOP_TIMEOUT_S))
            query.stop()
        self._channel.close()
        shutil.rmtree(self._checkpoint, ignore_errors=True)
        with _slots_lock:
            _slots_taken[self._application] -= self.config.parallelism

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    @property
    def _instance_ids(self) -> range:
        return range(self.config.parallelism)

    def _take_slots(self) -> None:
        needed, there = self.config.parallelism, self._spark.sparkContext.defaultParallelism
        with _slots_lock:
            taken = _slots_taken.get(self._application, 0)
            if taken + needed > there:
                raise NotAllowed(
                    f"{self.config.fqfn} needs {needed} slots of the Spark session, which has "
                    f"{there}, {taken} taken: give it more, as master local[{there * 2}]"
                )
            _slots_taken[self._application] = taken + needed

    def _start(self, task: FunctionTask) -> None:
        spark = self._spark
        activate(spark)
        with _starting:
            session_id = spark._jsparkSession.sessionUUID()  # noqa: SLF001 - there is no public way
            first = session_id not in _registered
            if first:
                spark.dataSource.register(FunctionSource)
            reader = spark.readStream.format(FORMAT)
            frame = reader.option(OPTION, to_option(task, self._channel.address)).load()
            writer = frame.writeStream.format("noop").queryName(f"function {self.config.fqfn}")
            writer = writer.option("checkpointLocation", self._checkpoint)
            self.query = writer.trigger(availableNow=True).start()
            if first:
                self._wait_for_instances()
                _registered.add(session_id)

    def _wait_for_instances(self) -> None:
        def settled() -> bool:
            return self.running or not self.query.isActive

        waited_s = 0.0
        while not self._channel.wait(settled, 0.5):
            waited_s += 0.5
            if waited_s >= _START_TIMEOUT_S:
                raise NotReady(f"{self.config.fqfn} did not start within {_START_TIMEOUT_S:g} s")
        if not self.running:
            raise NotReady(f"{self.config.fqfn} did not start: {self.error or 'its query ended'}")


def cause_of(exception: Exception) -> str:
    """What Spark's message says of the cause, in a line."""
    text = str(exception)
    named = re.search(r"magnetar\.errors\.\w+: (.*)", text) or re.search(r"\S.*", text)
    return named[named.lastindex or 0] if named else type(exception).__name__
