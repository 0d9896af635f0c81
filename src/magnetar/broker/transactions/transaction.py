"""A transaction, and what may become of it. Pure.

``TRANSITIONS`` alone decides:

    OPEN --commit--> COMMITTING --ended--> COMMITTED
    OPEN --abort, time out--> ABORTING --ended--> ABORTED

It is ended when all topics and subscriptions that took part were told. A client that asks for the
end again, because it got no answer, changes nothing and waits for the same end.
"""

from dataclasses import field
from enum import Enum
from typing import Final, NamedTuple

from magnetar.errors import InvalidTxnStatus
from magnetar.late_dataclass import dataclass
from magnetar.model.txn_id import TxnId


class TxnStatus(Enum):
    """The state of one transaction, by Pulsar's names."""

    OPEN = "OPEN"
    COMMITTING = "COMMITTING"  # Whatever happens, it will be committed.
    COMMITTED = "COMMITTED"
    ABORTING = "ABORTING"
    ABORTED = "ABORTED"

    @property
    def ended(self) -> bool:
        return self in (TxnStatus.COMMITTED, TxnStatus.ABORTED)


class TxnEvent(Enum):
    """What happens to a transaction."""

    COMMIT = "committed"
    ABORT = "aborted"
    TIME_OUT = "timed out"
    ENDED = "ended"


TRANSITIONS: Final = {
    (TxnStatus.OPEN, TxnEvent.COMMIT): TxnStatus.COMMITTING,
    (TxnStatus.OPEN, TxnEvent.ABORT): TxnStatus.ABORTING,
    (TxnStatus.OPEN, TxnEvent.TIME_OUT): TxnStatus.ABORTING,
    (TxnStatus.COMMITTING, TxnEvent.COMMIT): TxnStatus.COMMITTING,
    (TxnStatus.COMMITTING, TxnEvent.ENDED): TxnStatus.COMMITTED,
    (TxnStatus.ABORTING, TxnEvent.ABORT): TxnStatus.ABORTING,
    (TxnStatus.ABORTING, TxnEvent.ENDED): TxnStatus.ABORTED,
}


class TxnSubscription(NamedTuple):
    """A subscription that acknowledges in a transaction."""

    topic: str
    subscription: str


@dataclass(slots=True)
class Transaction:
    """One transaction, as its coordinator knows it."""

    txn_id: TxnId
    timeout_ms: int
    opened_at_ms: int  # Since the epoch.
    owner: str | None = None  # The role that opened it; None: nobody is asked who it is.
    status: TxnStatus = TxnStatus.OPEN
    topics: dict[str, None] = field(default_factory=dict)  # A set that keeps its order.
    subscriptions: dict[TxnSubscription, None] = field(default_factory=dict)  # Likewise.

    @property
    def commits(self) -> bool:
        """Whether it is or was being committed."""
        return self.status in (TxnStatus.COMMITTING, TxnStatus.COMMITTED)

    @property
    def takes_part_somewhere(self) -> bool:
        """Whether there is anybody to be told of its end."""
        return bool(self.topics or self.subscriptions)

    def check(self, event: TxnEvent) -> TxnStatus:
        """What an event makes of it. Raises InvalidTxnStatus where this cannot happen to it now."""
        status = TRANSITIONS.get((self.status, event))
        if status is None:
            raise InvalidTxnStatus(
                f"The transaction {self.txn_id} is {self.status.value}: it cannot be {event.value}"
            )
        return status

    def on(self, event: TxnEvent) -> None:
        """Raise InvalidTxnStatus where this cannot happen to it now."""
        self.status = self.check(event)

    def check_open(self) -> None:
        """Raise InvalidTxnStatus once its end has begun."""
        if self.status is not TxnStatus.OPEN:
            raise InvalidTxnStatus(
                f"The transaction {self.txn_id} is {self.status.value}: nothing more takes part"
            )
