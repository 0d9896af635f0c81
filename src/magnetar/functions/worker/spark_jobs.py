"""Runs functions as queries of one Spark session, which is there from the first function on."""

import contextlib
import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from magnetar.errors import NotReady
from magnetar.functions.config import FunctionConfig
from magnetar.functions.worker.settings import WorkerSettings
from magnetar.functions.worker.status import NOTHING, Metrics

if TYPE_CHECKING:  # They import pyspark, which a worker without functions does without.
    from pyspark.sql import SparkSession

    from magnetar.functions.job import FunctionJob

log = logging.getLogger(__name__)


class SparkJob:
    """One query."""

    def __init__(self, job: "FunctionJob") -> None:
        self._job = job

    def failure(self) -> str | None:
        if self._job.query.isActive:
            return None
        return self._job.error or "its query has ended"

    def metrics(self) -> Sequence[Metrics]:
        return [{**NOTHING, **each} for each in self._job.status()]

    def stop(self) -> None:
        self._job.stop()


class SparkJobs:
    """One session and its queries. A session whose Java process has ended is replaced."""

    def __init__(self, settings: WorkerSettings, spark: "SparkSession | None" = None) -> None:
        """``spark`` is a session of the caller's, which is left running."""
        self._settings = settings
        self._lock = threading.Lock()
        self._spark = spark
        self._owned = spark is None

    def start(self, config: FunctionConfig, package: Path) -> SparkJob:
        try:
            from magnetar.functions.job import FunctionJob  # noqa: PLC0415 - imports pyspark
            from magnetar.functions.source import BrokerAccess  # noqa: PLC0415 - as above
        except ModuleNotFoundError as error:
            raise NotReady(
                f"functions run in Spark, and {error.name} is not installed where the functions "
                "worker runs: install Magnetar's extra spark there (docs/install.md)"
            ) from error

        settings = self._settings
        broker = BrokerAccess(settings.service_url, settings.admin_url, settings.client_settings)
        with self._lock:
            spark = self._session()
        return SparkJob(FunctionJob(spark, replace(config, py=str(package)), broker))

    def close(self) -> None:
        from magnetar.spark.session import shut_down  # noqa: PLC0415 - imports pyspark

        with self._lock:
            spark, self._spark = self._spark, None
        if spark is not None and self._owned:
            shut_down(spark)

    def _session(self) -> "SparkSession":
        from magnetar.spark.session import session, shut_down  # noqa: PLC0415 - imports pyspark

        if self._spark is not None:
            if _alive(self._spark):
                return self._spark
            log.warning("functions.spark_ended a new session is started")
            with contextlib.suppress(Exception):
                shut_down(self._spark)
        self._owned = True
        self._spark = session(
            "functions",
            master=self._settings.master,
            settings=self._settings.spark,
            log_file=self._settings.folder / "spark.log",
        )
        return self._spark


def _alive(spark: "SparkSession") -> bool:
    try:
        return not spark.sparkContext._jsc.sc().isStopped()  # noqa: SLF001 - no public way
    except Exception:  # noqa: BLE001 - whatever is raised, nobody answers
        return False
