"""What became of a broker's traces. Pure."""

from dataclasses import dataclass


@dataclass(slots=True)
class TraceCounts:
    """Kept by who makes spans, told with the metrics."""

    exported: int = 0
    """Spans that the collector took."""
    failed: int = 0
    """Spans that it did not take."""
    dropped: int = 0
    """Spans for which there was no room while it was slow."""
    skipped: int = 0
    """Publishes, deliveries and requests that were not traced: there were too many."""
