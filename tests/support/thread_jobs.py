"""Runs functions in threads of the test, for tests of the worker that are not about Spark."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from magnetar.client import blocking
from magnetar.functions.config import FunctionConfig
from magnetar.functions.local_run import LocalRun
from magnetar.functions.worker.status import NOTHING, Metrics


class ThreadJob:
    def __init__(self, running: LocalRun) -> None:
        self._running = running

    def failure(self) -> str | None:
        return None if self._running.running else self._running.error or "it has ended"

    def metrics(self) -> Sequence[Metrics]:
        return [{**NOTHING, **each} for each in self._running.status()]

    def stop(self) -> None:
        self._running.stop()


class ThreadJobs:
    """Satisfies the contract ``Jobs``."""

    def __init__(self, service_url: str, admin_url: str) -> None:
        self._client = blocking.Client(service_url)
        self._admin_url = admin_url

    def start(self, config: FunctionConfig, package: Path) -> ThreadJob:
        whole = replace(config, py=str(package))
        return ThreadJob(LocalRun(self._client, whole, admin_url=self._admin_url))

    def close(self) -> None:
        self._client.close()
