"""The topics of one run of the quickstart. Pure."""

from dataclasses import dataclass

from magnetar.model.names import TopicName


@dataclass(frozen=True, slots=True)
class QuickstartTopics:
    """Named apart from those of any other run, so a second run finds nothing of the first."""

    flights: TopicName
    results: TopicName
    cancelled: TopicName

    @staticmethod
    def named(prefix: str) -> "QuickstartTopics":
        """``prefix`` may begin with a namespace: ``tenant/namespace/name``. Raises InvalidName."""
        return QuickstartTopics(
            flights=TopicName.parse(f"{prefix}-flights"),
            results=TopicName.parse(f"{prefix}-carrier-days"),
            cancelled=TopicName.parse(f"{prefix}-cancelled"),
        )
