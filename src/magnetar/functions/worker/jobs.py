"""Where functions run. A contract: ``spark_jobs.py`` satisfies it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from magnetar.functions.config import FunctionConfig
from magnetar.functions.worker.status import Metrics


class Job(Protocol):
    """One function that was started. Its methods may block for a moment."""

    def failure(self) -> str | None:
        """Why it has ended, in a line; None while it runs."""

    def metrics(self) -> Sequence[Metrics]:
        """The numbers of each instance, since it was started; also when it has ended."""

    def stop(self) -> None:
        """End it. Where it was is known to the broker."""


class Jobs(Protocol):
    """Starts functions, asked from any thread."""

    def start(self, config: FunctionConfig, package: Path) -> Job:
        """Start a function, or go on with it. Raises MagnetarError, or what the machinery does."""

    def close(self) -> None:
        """End the machinery, when nothing runs any more."""
