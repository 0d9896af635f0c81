"""The limits on the rates of one topic, made where there are any."""

from collections.abc import Iterable

from magnetar.broker.topics.features.publish_throttle import Publish, PublishThrottle
from magnetar.broker.topics.features.rate_limit import Counters, RateLimit
from magnetar.broker.topics.features.shared_rates import SharedRates
from magnetar.broker.topics.publishing.producer import Producer
from magnetar.clock import Clock
from magnetar.model.policies import Policies
from magnetar.model.policy_values import DispatchRate, PublishRate


class TopicRates:
    """Its own limits, and those that it shares with others.

    ``published`` tells what was published to it, and ``publish`` takes what is.
    """

    __slots__ = ("_clock", "_dispatch", "_publish", "_shared", "dispatch", "published", "throttle")

    def __init__(
        self, publish: Publish, published: Counters, shared: SharedRates | None, clock: Clock
    ) -> None:
        self._clock = clock
        self._shared = shared
        self._publish = RateLimit("topic", clock.now())
        self._dispatch = RateLimit("topic", clock.now())
        self.published = published
        self.throttle = PublishThrottle(publish, clock)
        self.dispatch: tuple[RateLimit, ...] = ()
        """The limits on what its subscriptions deliver together."""

    def apply(self, policies: Policies, producers: Iterable[Producer]) -> None:
        """Apply new policies, also to producers that are attached."""
        now, publish = self._clock.now(), policies.publish_rate or PublishRate()
        self._publish.set(publish.messages, publish.size_bytes, now)
        set_dispatch(self._dispatch, policies.dispatch_rate, now, self.published)
        shared = self._shared
        self.throttle.limits = (
            *((self._publish,) if self._publish else ()),
            *(shared.publish(policies) if shared is not None else ()),
        )
        self.dispatch = (
            *((self._dispatch,) if self._dispatch else ()),
            *(shared.dispatch(policies) if shared is not None else ()),
        )
        for producer in producers:
            producer.publish_through(self.publish)

    @property
    def publish(self) -> Publish:
        """What takes the runs of producers."""
        return self.throttle.publish if self.throttle.limits else self.throttle.unlimited


def limited(policies: Policies, shared: SharedRates | None) -> bool:
    """Whether a topic with these policies has limits of its own, or may share some."""
    if shared is not None and shared.concern(policies):
        return True
    of_one = (policies.of_subscriptions or {}).values()
    rates: list[PublishRate | DispatchRate | None] = [one.dispatch_rate for one in of_one]
    rates += policies.publish_rate, policies.dispatch_rate, policies.subscription_dispatch_rate
    return any(rate is not None and (rate.messages > 0 or rate.size_bytes > 0) for rate in rates)


def set_dispatch(
    limit: RateLimit, rate: DispatchRate | None, now: float, published: Counters
) -> None:
    """Let a limit be what a policy says."""
    rate = rate or DispatchRate()
    above = published if rate.relative_to_publish_rate else None
    limit.set(rate.messages, rate.size_bytes, now, period_s=rate.period_s, above=above)
