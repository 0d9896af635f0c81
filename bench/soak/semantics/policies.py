"""Flows whose topics get other policies while they are in use."""

from typing import Any

from bench.soak.admin import Away, path_of

from .feature_flow import FeatureFlow


class Policies(FeatureFlow):
    """Policies of the topic are set and removed; none of these lets a message be lost."""

    SOME: tuple[tuple[str, Any], ...] = (
        ("retention", {"retentionTimeInMinutes": 1, "retentionSizeInMB": 10}),
        ("maxUnackedMessagesOnConsumer", 20),
        ("maxUnackedMessagesOnSubscription", 50),
        ("maxMessageSize", 200_000),
        ("deduplicationEnabled", True),
        ("maxConsumersPerSubscription", 8),
        ("compactionThreshold", 100_000),
        ("delayedDelivery", {"tickTime": 100, "active": True}),
        ("subscriptionTypesEnabled", ["Shared", "Exclusive"]),
    )

    def prepare(self) -> None:
        for name, value in self.SOME:
            self.set_policy(name, value)

    def meddle(self) -> None:
        name, value = self._chance.choice(self.SOME)
        try:
            if self._chance.random() < 0.5:
                self.set_policy(name, value)
            else:
                for topic in self.flow.all_topics:
                    self.admin.ask("DELETE", f"{path_of(topic)}/{name}")
            self._tally.did("policies set and removed")
        except Away as error:
            self._tally.expected("policy")
            if "404" in str(error) or "405" in str(error) or "412" in str(error):
                self.complain("policy", str(error))
        if self._chance.random() < 0.3:
            self._renew_consumer(self.flow.topic(0))


class Rates(FeatureFlow):
    """Publishing and delivery are limited to less than what is sent, and to more, in turn."""

    LIMITS = (15, 60)  # Messages a second.

    def prepare(self) -> None:
        self._limit(self.LIMITS[0])

    def meddle(self) -> None:
        try:
            self._limit(self._chance.choice(self.LIMITS))
            self._tally.did("rates changed")
        except Away:
            self._tally.expected("rates")

    def _limit(self, rate: int) -> None:
        """Raises Away."""
        publish = {"publishThrottlingRateInMsg": rate, "publishThrottlingRateInByte": -1}
        self.set_policy("publishRate", publish)
        dispatch = {
            "dispatchThrottlingRateInMsg": rate,
            "dispatchThrottlingRateInByte": -1,
            "ratePeriodInSecond": 1,
            "relativeToPublishRate": False,
        }
        self.set_policy("dispatchRate", dispatch)
        self.set_policy("subscriptionDispatchRate", dispatch)
