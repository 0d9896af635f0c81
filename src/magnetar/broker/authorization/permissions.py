"""Grants and revokes permissions, in the records of namespaces."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from magnetar.auth.authorization import AuthAction
from magnetar.broker.resources import Resources
from magnetar.errors import InvalidValue, SubscriptionNotFound
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.policy_values import AuthPolicies, SubscriptionAuthMode

ACTIONS: Final = tuple(AuthAction)


class TopicGrant(NamedTuple):
    """What a role may do on a topic."""

    topic: TopicName
    role: str
    actions: tuple[AuthAction, ...] = ()


class Permissions:
    """What roles were granted in namespaces: on all topics there, on one, with a subscription."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    async def grant(
        self, namespace: NamespaceName, role: str, actions: tuple[AuthAction, ...]
    ) -> None:
        """In place of what the role was granted before. Raises NamespaceNotFound."""

        def granted(auth: AuthPolicies) -> AuthPolicies:
            return replace(auth, namespace={**auth.namespace, role: list(actions)})

        await self._resources.change_auth(namespace, granted)

    async def revoke(self, namespace: NamespaceName, role: str) -> None:
        """Whatever the role was granted on the namespace itself. Raises NamespaceNotFound."""

        def revoked(auth: AuthPolicies) -> AuthPolicies:
            return replace(auth, namespace=_without(auth.namespace, role))

        await self._resources.change_auth(namespace, revoked)

    async def grant_on_topics(self, grants: Sequence[TopicGrant]) -> None:
        """On topics of one namespace, each in place of what was granted before."""

        def granted(auth: AuthPolicies) -> AuthPolicies:
            topics = dict(auth.topics)
            for grant in grants:
                name = str(grant.topic)
                topics[name] = {**topics.get(name, {}), grant.role: list(grant.actions)}
            return replace(auth, topics=topics)

        await self._resources.change_auth(grants[0].topic.namespace, granted)

    async def revoke_on_topics(self, grants: Sequence[TopicGrant]) -> None:
        """Whatever these roles were granted on these topics of one namespace."""

        def revoked(auth: AuthPolicies) -> AuthPolicies:
            topics = dict(auth.topics)
            for grant in grants:
                name = str(grant.topic)
                topics[name] = _without(topics.get(name, {}), grant.role)
            return replace(auth, topics={name: roles for name, roles in topics.items() if roles})

        await self._resources.change_auth(grants[0].topic.namespace, revoked)

    async def grant_subscription(
        self, namespace: NamespaceName, subscription: str, roles: Collection[str]
    ) -> None:
        """Let only these roles use the subscriptions of this name, on whatever topic."""

        def granted(auth: AuthPolicies) -> AuthPolicies:
            listed = {**auth.subscriptions, subscription: sorted(set(roles))}
            return replace(auth, subscriptions=listed)

        await self._resources.change_auth(namespace, granted)

    async def revoke_subscription(
        self, namespace: NamespaceName, subscription: str, role: str
    ) -> None:
        """Take a role off the list; the last one takes the list with it, and all may use it.

        Raises SubscriptionNotFound for one without a list, NamespaceNotFound.
        """

        def revoked(auth: AuthPolicies) -> AuthPolicies:
            if subscription not in auth.subscriptions:
                raise SubscriptionNotFound(f"couldn't find subscription {subscription}")
            left = [each for each in auth.subscriptions[subscription] if each != role]
            rest = _without(auth.subscriptions, subscription)
            return replace(auth, subscriptions={**rest, subscription: left} if left else rest)

        await self._resources.change_auth(namespace, revoked)

    async def topic_deleted(self, topic: TopicName) -> None:
        """Forget what was granted on a topic: another of its name is another topic."""

        def forgotten(auth: AuthPolicies) -> AuthPolicies:
            return replace(auth, topics=_without(auth.topics, str(topic)))

        stored = await self._resources.namespace(topic.namespace)
        if stored is not None and str(topic) in (stored.policies.auth or AuthPolicies()).topics:
            await self._resources.change_auth(topic.namespace, forgotten)


def actions_in(value: Any) -> tuple[AuthAction, ...]:
    """The actions in a JSON. Raises InvalidValue for what is no list of actions."""
    if not isinstance(value, list) or not set(map(str, value)) <= set(ACTIONS):
        raise InvalidValue(f"actions are a list of {', '.join(ACTIONS)}, not {value!r:.100}")
    return tuple(action for action in ACTIONS if action in value)


def check(value: Mapping[str, Any]) -> None:
    """Raise InvalidValue where a namespace's JSON grants what there is not."""
    mode = value.get("subscription_auth_mode")
    if mode is not None:
        mode_in(mode)
    auth = _object(value, "auth_policies")
    on_topics = _object(auth, "destination_auth")
    for granted in (
        _object(auth, "namespace_auth"),
        *(_object(on_topics, topic) for topic in on_topics),
    ):
        for actions in granted.values():
            actions_in(actions)
    for name, roles in _object(auth, "subscription_auth_roles").items():
        if not isinstance(roles, list) or not all(isinstance(role, str) for role in roles):
            raise InvalidValue(f"{name} has a list of roles, not {roles!r:.100}")


def mode_in(value: Any) -> SubscriptionAuthMode:
    """A mode in a JSON. Raises InvalidValue."""
    if value not in list(SubscriptionAuthMode):
        known = " or ".join(SubscriptionAuthMode)
        raise InvalidValue(f"subscriptionAuthMode is {known}, not {value!r:.100}")
    return SubscriptionAuthMode(value)


def _without(items: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: item for name, item in items.items() if name != key}


def _object(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    if found is not None and not isinstance(found, dict):
        raise InvalidValue(f"{key} is an object, not {found!r:.100}")
    return found or {}
