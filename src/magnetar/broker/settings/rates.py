"""The settings of a broker that limit rates."""

from magnetar.late_dataclass import dataclass
from magnetar.model.policies import Policies
from magnetar.model.policy_values import DispatchRate, PublishRate, SubscribeRate

from .setting import setting


@dataclass(frozen=True, slots=True)
class RateSettings:
    """How fast clients may publish, be delivered to and subscribe."""

    broker_publish_messages_max: int = setting(
        "brokerPublisherThrottlingMaxMessageRate",
        0,
        "messages published to all topics together in a second; 0 is no limit",
    )
    broker_publish_bytes_max: int = setting(
        "brokerPublisherThrottlingMaxByteRate", 0, "the same, in bytes"
    )
    publish_messages_max: int = setting(
        "maxPublishRatePerTopicInMessages",
        0,
        "messages published to a topic in a second; 0 is no limit",
    )
    publish_bytes_max: int = setting("maxPublishRatePerTopicInBytes", 0, "the same, in bytes")
    broker_dispatch_messages_max: int = setting(
        "dispatchThrottlingRateInMsg",
        0,
        "messages delivered from all topics together in a second; 0 is no limit",
    )
    broker_dispatch_bytes_max: int = setting("dispatchThrottlingRateInByte", 0, "the same in bytes")
    dispatch_messages_max: int = setting(
        "dispatchThrottlingRatePerTopicInMsg",
        0,
        "messages delivered from a topic in a second; 0 is no limit",
    )
    dispatch_bytes_max: int = setting(
        "dispatchThrottlingRatePerTopicInByte", 0, "the same, in bytes"
    )
    subscription_dispatch_messages_max: int = setting(
        "dispatchThrottlingRatePerSubscriptionInMsg",
        0,
        "messages delivered to a subscription in a second; 0 is no limit",
    )
    subscription_dispatch_bytes_max: int = setting(
        "dispatchThrottlingRatePerSubscriptionInByte", 0, "the same, in bytes"
    )
    replicator_dispatch_messages_max: int = setting(
        "dispatchThrottlingRatePerReplicatorInMsg",
        0,
        "messages of a topic sent to another cluster in a second; 0 is no limit",
    )
    replicator_dispatch_bytes_max: int = setting(
        "dispatchThrottlingRatePerReplicatorInByte", 0, "the same, in bytes"
    )
    dispatch_relative: bool = setting(
        "dispatchThrottlingRateRelativeToPublishRate",
        False,
        "the limits on delivery from topics and to subscriptions come on top of what is published",
    )
    subscribes_per_consumer_max: int = setting(
        "subscribeThrottlingRatePerConsumer",
        0,
        "how often a consumer may subscribe to a topic in a period; 0 is no limit",
    )
    subscribe_period_s: int = setting(
        "subscribeRatePeriodPerConsumerInSecond", 30, "this period", minimum=1
    )

    def policies(self) -> Policies:
        """Those where no namespace says anything else."""
        return Policies(
            publish_rate=self._publish_rate,
            dispatch_rate=DispatchRate(
                self.dispatch_messages_max,
                self.dispatch_bytes_max,
                self.dispatch_relative,
                period_s=1,
            ),
            subscription_dispatch_rate=DispatchRate(
                self.subscription_dispatch_messages_max,
                self.subscription_dispatch_bytes_max,
                self.dispatch_relative,
                period_s=1,
            ),
            replicator_dispatch_rate=self._replicator_rate,
            subscribe_rate=SubscribeRate(self.subscribes_per_consumer_max, self.subscribe_period_s),
        )

    @property
    def shared_publish(self) -> PublishRate:
        return PublishRate(self.broker_publish_messages_max, self.broker_publish_bytes_max)

    @property
    def shared_dispatch(self) -> DispatchRate:
        return DispatchRate(self.broker_dispatch_messages_max, self.broker_dispatch_bytes_max)

    @property
    def _replicator_rate(self) -> DispatchRate | None:
        rate = self.replicator_dispatch_messages_max, self.replicator_dispatch_bytes_max
        return DispatchRate(*rate, self.dispatch_relative, period_s=1) if any(rate) else None

    @property
    def _publish_rate(self) -> PublishRate | None:
        if not (self.publish_messages_max or self.publish_bytes_max):
            return None
        return PublishRate(self.publish_messages_max, self.publish_bytes_max)
