"""The limits on rates that topics share: the broker's own, and those of resource groups."""

from magnetar.broker.resource_groups import ResourceGroups
from magnetar.broker.topics.features.rate_limit import RateLimit
from magnetar.clock import Clock
from magnetar.model.policies import Policies
from magnetar.model.policy_values import DispatchRate, PublishRate, ResourceGroup


class SharedRates:
    """Knows them for every topic; the groups that any topic ever was in are followed."""

    def __init__(
        self, groups: ResourceGroups, clock: Clock, *, publish: PublishRate, dispatch: DispatchRate
    ) -> None:
        self._groups = groups
        self._clock = clock
        self._known: dict[str, _GroupRates] = {}
        now = clock.now()
        publishing, dispatching = RateLimit("broker", now), RateLimit("broker", now)
        publishing.set(publish.messages, publish.size_bytes, now)
        dispatching.set(dispatch.messages, dispatch.size_bytes, now)
        self._publish = (publishing,) if publishing else ()
        self._dispatch = (dispatching,) if dispatching else ()

    def concern(self, policies: Policies) -> bool:
        """Whether any of them holds for a topic with these policies."""
        return bool(self._publish or self._dispatch or policies.resource_group)

    def publish(self, policies: Policies) -> tuple[RateLimit, ...]:
        """The limits on publishing to a topic with these policies."""
        group = self._group(policies.resource_group)
        return self._publish if group is None else (*self._publish, group.publish)

    def dispatch(self, policies: Policies) -> tuple[RateLimit, ...]:
        """The limits on dispatch from a topic with these policies."""
        group = self._group(policies.resource_group)
        return self._dispatch if group is None else (*self._dispatch, group.dispatch)

    def _group(self, name: str | None) -> "_GroupRates | None":
        if not name:
            return None
        if name not in self._known:
            group = self._known[name] = _GroupRates(name, self._clock)
            self._groups.follow(name, group.changed)
        return self._known[name]


class _GroupRates:
    """What all topics of one resource group share."""

    def __init__(self, name: str, clock: Clock) -> None:
        self._clock = clock
        self.publish = RateLimit(f"resource group {name}", clock.now())
        self.dispatch = RateLimit(f"resource group {name}", clock.now())

    def changed(self, group: ResourceGroup | None) -> None:
        """The record of the group changed; None: it was deleted, and limits nothing."""
        found, now = group or ResourceGroup(), self._clock.now()
        self.publish.set(found.publish_messages or 0, found.publish_bytes or 0, now)
        self.dispatch.set(found.dispatch_messages or 0, found.dispatch_bytes or 0, now)
