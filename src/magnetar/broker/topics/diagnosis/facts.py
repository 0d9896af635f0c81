"""What a diagnosis of a subscription looks at, what it finds, and the words it says it in. Pure."""

from datetime import UTC, datetime
from enum import Enum
from typing import Final, NamedTuple

from magnetar.broker.topics.diagnosis.subscription_view import (
    ConsumerView,
    Slowest,
    SubscriptionView,
)
from magnetar.late_dataclass import dataclass
from magnetar.model.policies import Policies
from magnetar.model.policy_values import BacklogQuota
from magnetar.model.position import Position
from magnetar.model.schemas import SchemaRefusal
from magnetar.model.subscriptions import SubscriptionType

LONG_S: Final = 5.0
"""Messages that a consumer has held for longer may be stuck in its queue."""


class Severity(Enum):
    """How bad it is."""

    ERROR = "error"  # Nothing moves, and nothing will unless somebody does something.
    WARNING = "warning"  # It moves slowly, or will stop.
    INFO = "info"  # It is as it was asked for.
    OK = "ok"


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause; ``since_ms`` is when it began, 0 where that is unknown."""

    cause: str
    severity: Severity
    text: str
    remedy: str = ""
    since_ms: int = 0


class ProducersHeldBack(NamedTuple):
    """How a limit on the rate of publishing has held producers back."""

    limit: str  # Whose it is: "topic", "broker", or "resource group x".
    waits: int  # How often they had to wait since the topic was loaded,
    ago_s: float  # and the last time.


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the rules look at."""

    topic: str
    view: SubscriptionView
    policies: Policies
    now_ms: int
    oldest_age_s: float | None = None  # Of the first message that is not acknowledged.
    rate_in: float = 0.0  # Messages in a second, of the last minute.
    rate_out: float = 0.0
    fenced: bool = False
    unwritable: str = ""  # Why the log takes nothing.
    terminated: bool = False
    quota: BacklogQuota | None = None  # The one that is exceeded,
    slowest: Slowest | None = None  # and the subscription that is furthest behind.
    held_back: ProducersHeldBack | None = None  # Producers, by a limit on the rate of publishing.
    producers: int = 0
    producers_waiting: int = 0  # For exclusive access.
    sync_ms: tuple[float, float] | None = None  # p50 and p99 of the last minute or two.
    refusal: SchemaRefusal | None = None  # The last client whose schema did not fit.

    @property
    def several(self) -> bool:
        """Whether its consumers share the messages."""
        return self.view.type in (SubscriptionType.SHARED, SubscriptionType.KEY_SHARED)


def named(view: SubscriptionView, name: str) -> ConsumerView | None:
    return next((each for each in view.consumers if each.name == name), None)


def held_count(consumer: ConsumerView | None) -> str:
    if consumer is None or not consumer.held_messages:
        return "what it was sent"
    return counted(consumer.held_messages, "unacknowledged message")


def held_since(consumer: ConsumerView | None) -> str:
    if consumer is None or consumer.oldest_held_s is None:
        return ""
    return f"; it has held the oldest for {duration(consumer.oldest_held_s)}"


def holds(consumer: ConsumerView | None) -> str:
    if consumer is None or not consumer.held_messages:
        return ""
    return f" ({consumer.held_messages} unacknowledged{held_since(consumer)})"


def age(age_s: float | None) -> str:
    return "" if age_s is None else f", the oldest for {duration(age_s)}"


def ago_s(facts: Facts, time_ms: int) -> float:
    return max(facts.now_ms - time_ms, 0) / 1000


def counted(count: int, what: str) -> str:
    if count == 1:
        return f"1 {what}"
    return f"{count} {what.removesuffix('y') + 'ies' if what.endswith('y') else what + 's'}"


def rate_text(messages: int, size_bytes: int, period_s: int = 1) -> str:
    """A limit as people say it; "" where it is none."""
    parts = [f"{counted(messages, 'message')}"] if messages > 0 else []
    parts += [f"{counted(size_bytes, 'byte')}"] if size_bytes > 0 else []
    each = "a second" if period_s <= 1 else f"in {period_s} s"
    return f"{' and '.join(parts)} {each}" if parts else ""


def place(position: Position | None) -> str:
    """A position as commands and screens take it."""
    return "nowhere" if position is None else f"{position.ledger_id}:{position.entry_id}"


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def instant(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="seconds")


def duration(seconds: float) -> str:
    """A time as people say it."""
    for unit, size in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
