"""What the routes of a functions worker use."""

from dataclasses import dataclass
from typing import Any

from magnetar.functions.worker.states import States
from magnetar.functions.worker.worker import FunctionsWorker


@dataclass(frozen=True, slots=True)
class WorkerServices:
    """Every handler of a route gets these."""

    worker: FunctionsWorker
    state: States
    info: dict[str, Any]  # Pulsar's WorkerInfo of this worker.
