"""The contract of a subscription's dispatch: serving its consumers."""

from typing import Protocol

from magnetar.broker.dispatch.blocked import Blocked
from magnetar.broker.dispatch.strategy import Strategy
from magnetar.broker.topics.subscriptions.consumer import Consumer
from magnetar.model.policies import Policies


class Dispatch(Protocol):
    """Serves a subscription from its first consumer until the last one is gone."""

    @property
    def over_unacked_limit(self) -> bool:
        """Nothing is delivered: too much is unacknowledged on the subscription."""

    @property
    def strategy(self) -> Strategy[Consumer]: ...

    @property
    def waiting_count(self) -> int:
        """Entries that wait to be delivered, again or at all."""

    def join(self, consumer: Consumer) -> None:
        """A consumer came. Raises ConsumerAssignFailed (Key_Shared) and changes nothing then."""

    def leave(self, consumer: Consumer) -> None:
        """A consumer went; what it held goes to the others."""

    def flowed(self, consumer: Consumer) -> None:
        """A consumer got permits."""

    def apply(self, policies: Policies) -> None:
        """Apply new limits."""

    def close(self) -> None:
        """Deliver nothing more."""

    def blocked(self) -> Blocked | None:
        """Why nothing is delivered; None when nothing keeps it."""
