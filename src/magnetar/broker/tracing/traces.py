"""What a broker has where traces are on: what is chosen, how far it is followed, who sends it."""

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from magnetar.broker.settings.traces import TraceSettings
from magnetar.clock import Clock
from magnetar.loop_iteration import LoopIteration
from magnetar.model.counts import GroupTimes, TraceCounts

from .sampling import DELIVERIES_PER_S_MAX, PerSecond, Sampling
from .traced_entries import TracedEntries

if TYPE_CHECKING:  # It imports OpenTelemetry.
    from opentelemetry.sdk.trace import Span

    from .spans import Spans

SYSTEM: Final = {"messaging.system": "pulsar"}


class Traces:
    """One object for a broker."""

    def __init__(
        self,
        spans: "Spans",
        settings: TraceSettings,
        counts: TraceCounts,
        *,
        log_times: Callable[[], GroupTimes | None],
        clock: Clock,
        iteration: LoopIteration,
    ) -> None:
        """``log_times`` is of what the log answers at the moment; None where nothing is written."""
        self.spans = spans
        self.counts = counts
        self.log_times = log_times
        self.clock = clock
        self.iteration = iteration
        self.followed: TracedEntries[Span] = TracedEntries()
        self.sampling = Sampling(
            from_parents=settings.from_parents,
            share=settings.share,
            chance=lambda: secrets.randbits(53) / (1 << 53),
            counts=counts,
        )
        self._deliveries = PerSecond(DELIVERIES_PER_S_MAX)

    def admits_delivery(self) -> bool:
        """Whether one more delivery is traced in this second."""
        if self._deliveries.take(self.clock.now()):
            return True
        self.counts.skipped += 1
        return False
