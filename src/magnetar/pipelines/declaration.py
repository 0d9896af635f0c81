"""What a pipeline is made of, as its file declares it. Values only."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

AVAILABLE_NOW = "available-now"
PULSAR = "pulsar"


class Action(StrEnum):
    """What becomes of a row that a check does not hold for."""

    WARN = "warn"
    DROP = "drop"
    QUARANTINE = "quarantine"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Watermark:
    """Rows older than ``delay`` behind the newest ``column`` are late."""

    column: str
    delay: str


@dataclass(frozen=True, slots=True)
class Check:
    """``expect`` is an expression of SQL that has to be true; null is not."""

    name: str
    expect: str
    action: Action


@dataclass(frozen=True, slots=True)
class Location:
    """Where rows are read from or written to: ``options`` of a format of Spark, and a path."""

    format: str
    options: Mapping[str, str]
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A view of what is read. ``json`` are the columns of a topic's values.

    A message whose value has none of them goes to ``reject``, or stops the pipeline.
    """

    name: str
    location: Location
    streaming: bool
    schema: str | None
    json: str | None
    watermark: Watermark | None
    reject: Location | None = None

    @property
    def reject_query(self) -> str:
        """The name of the query that writes what it rejects, and of its checkpoint."""
        return f"{self.name}_reject"

    @property
    def rejects(self) -> bool:
        return self.reject is not None


@dataclass(frozen=True, slots=True)
class Step:
    """A view of rows made from other views: by ``sql``, or by the function ``python`` names."""

    name: str
    sql: str | None
    python: str | None
    inputs: tuple[str, ...]
    watermark: Watermark | None
    deduplicate: tuple[str, ...]
    checks: tuple[Check, ...]
    quarantine: Location | None

    @property
    def quarantine_query(self) -> str:
        """The name of the query that writes what it quarantines, and of its checkpoint."""
        return f"{self.name}_quarantine"

    @property
    def quarantines(self) -> bool:
        return any(check.action is Action.QUARANTINE for check in self.checks)


@dataclass(frozen=True, slots=True)
class Sink:
    """Where the rows of the view ``view`` go. ``trigger`` is ``available-now`` or an interval."""

    name: str
    view: str
    location: Location
    mode: str
    trigger: str
    sort_by: tuple[str, ...]
    partition_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A whole pipeline; paths in it are whole. ``folder`` is where its file is."""

    name: str
    folder: Path
    checkpoints: str
    trigger: str
    settings: Mapping[str, str]
    sources: tuple[Source, ...]
    steps: tuple[Step, ...]
    sinks: tuple[Sink, ...]
