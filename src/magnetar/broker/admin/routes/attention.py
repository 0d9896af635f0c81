"""What needs attention: subscriptions that are stuck, and the broker. Not in Pulsar."""

from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.notices import notices
from magnetar.broker.admin.routes.rights import may_see, may_see_all
from magnetar.broker.admin.services import BrokerServices
from magnetar.broker.dispatch.blocked import Why
from magnetar.broker.topics.subscriptions.subscription import Subscription
from magnetar.broker.topics.topic import Topic
from magnetar.late_dataclass import dataclass
from magnetar.model.names import NamespaceName
from magnetar.rest.exchange import Reply, Request, shown
from magnetar.rest.router import Route

SHOWN_MAX: Final = 100
"""Subscriptions that are named; the others are counted."""
TOPICS_PER_TURN: Final = 100  # Then the loop serves others.


@dataclass(frozen=True, slots=True)
class StuckSubscription:
    """A subscription that nothing moves, and why."""

    topic: Topic
    subscription: Subscription
    why: Why
    reason: str
    still_since_ms: int  # 0: nothing ever moved.

    def shown(self) -> dict[str, Any]:
        return {
            "topic": str(self.topic.name),
            "subscription": self.subscription.name,
            "cause": self.why.name.lower().replace("_", "-"),
            "reason": self.reason,
            "msgBacklog": self.subscription.backlog,
            "since": self.still_since_ms or None,
        }


async def get(admin: BrokerServices, request: Request) -> Reply:
    """Those whose topic is open, the stuck before those without consumers, the largest first.

    What is wrong with the broker itself is told to superusers.
    """
    found: list[StuckSubscription] = []
    seen: dict[NamespaceName, bool] = {}
    for count, (name, topic) in enumerate(list(admin.topics.loaded.items()), start=1):
        if count % TOPICS_PER_TURN == 0:
            await admin.clock.sleep(0)
        stuck = [one for each in topic.subscriptions.values() if (one := needs(topic, each))]
        if not stuck:
            continue
        if name.namespace not in seen:
            seen[name.namespace] = await may_see(admin, request, name.namespace)
        found += stuck if seen[name.namespace] else []
    found.sort(key=lambda each: (each.why is Why.NO_CONSUMER, -each.subscription.backlog))
    named = [each.shown() for each in found[:SHOWN_MAX]]
    broker = notices(admin.health) if await may_see_all(admin, request) else []
    return shown(
        {
            "count": len(found),
            "subscriptions": named,
            "broker": [notice.shown() for notice in broker],
        }
    )


def needs(topic: Topic, subscription: Subscription) -> StuckSubscription | None:
    """Whether a subscription is stuck; a reader's never is.

    A backlog without a consumer is named at once, any other when it is blocked.
    """
    if not subscription.durable or not subscription.backlog:
        return None
    blocked = subscription.blocked_reason()
    if blocked is None:
        return None
    since_ms = subscription.blocked_since_ms(blocked, topic.loaded_at_ms)
    if not since_ms and blocked.why is not Why.NO_CONSUMER:
        return None
    return StuckSubscription(topic, subscription, blocked.why, str(blocked), subscription.moved_ms)


SERVICES: Final = BrokerServices
ROUTES: Final = (Route("GET", "/admin/v2/magnetar/attention", get, Access.AUTHENTICATED),)
