"""What a role may do: Pulsar's rules, as its PulsarAuthorizationProvider has them. Pure.

A superuser may do everything, an admin of a tenant everything in that tenant. Others have what they
were granted, on a namespace or on a topic; what nobody granted is refused.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Final, NamedTuple

from magnetar.auth.access import Access
from magnetar.auth.tenant_roles import TenantRoles
from magnetar.late_dataclass import dataclass
from magnetar.model.names import TopicName
from magnetar.model.policy_values import AuthPolicies, SubscriptionAuthMode


class AuthAction(StrEnum):
    """What can be granted, on a namespace or a topic; only the first two matter on a topic."""

    PRODUCE = "produce"
    CONSUME = "consume"
    FUNCTIONS = "functions"
    SOURCES = "sources"
    SINKS = "sinks"
    PACKAGES = "packages"


_ON_NAMESPACE: Final = {
    Access.NAMESPACE_TOPICS: (AuthAction.CONSUME, AuthAction.PRODUCE),
    Access.NAMESPACE_CONSUME: (AuthAction.CONSUME,),
    Access.FUNCTIONS: (AuthAction.FUNCTIONS,),
    Access.SOURCES: (AuthAction.SOURCES,),
    Access.SINKS: (AuthAction.SINKS,),
    Access.PACKAGES: (AuthAction.PACKAGES,),
}
_ON_TOPIC: Final = {
    Access.LOOKUP: (AuthAction.PRODUCE, AuthAction.CONSUME),
    Access.PRODUCE: (AuthAction.PRODUCE,),
    Access.CONSUME: (AuthAction.CONSUME,),
}


class Principal(NamedTuple):
    """Whose permissions are asked: the role's, and those of the proxy that it came through."""

    role: str
    proxy_role: str | None = None


@dataclass(frozen=True, slots=True)
class Grants:
    """What is stored about the place that a request is about; by default nothing is granted."""

    admins: Collection[str] = ()  # Of its tenant.
    auth: AuthPolicies = field(default_factory=AuthPolicies)  # Of its namespace.
    mode: SubscriptionAuthMode | None = None
    topic: TopicName | None = None
    subscription: str = ""  # "": it is about none.


@dataclass(frozen=True, slots=True)
class AuthorizationRules:
    """The settings of a broker that say who may do what."""

    superusers: frozenset[str] = frozenset()
    wildcards: bool = False  # A granted role may begin or end with ``*``.
    tenant_roles: TenantRoles = field(default_factory=TenantRoles)

    def allow(self, who: Principal, access: Access, grants: Grants) -> bool:
        """Whether the role has this access, and its proxy too; one without a name has none."""
        return all(role and self._allow(role, access, grants) for role in _roles(who))

    def bar(self, who: Principal, access: Access, tenant: str) -> bool:
        """Whether nothing that is granted in a tenant would help, as a role is another's."""
        return self.tenant_roles.bar(_roles(who), access, tenant)

    def prefix_missed(self, who: Principal, grants: Grants) -> str:
        """The role that the name of the subscription should begin with, and does not; or ""."""
        if grants.mode is SubscriptionAuthMode.PREFIX and grants.subscription.strip():
            for role in _roles(who):
                free = self._is_superuser(role) or role in grants.admins
                if not free and not grants.subscription.startswith(role):
                    return role
        return ""

    def _allow(self, role: str, access: Access, grants: Grants) -> bool:
        if access in (Access.PUBLIC, Access.AUTHENTICATED) or self._is_superuser(role):
            return True
        if access is Access.SUPERUSER:
            return False
        if role in grants.admins:
            return True
        if access is Access.CONSUME and not self._may_subscribe(role, grants):
            return False
        if access in _ON_NAMESPACE:
            return self._granted(role, _ON_NAMESPACE[access], (grants.auth.namespace,))
        on = () if grants.topic is None else _holders(grants.auth, grants.topic)
        return access in _ON_TOPIC and self._granted(role, _ON_TOPIC[access], on)

    def _is_superuser(self, role: str) -> bool:
        return role in self.superusers and not self.tenant_roles.tenant_of(role)

    def _may_subscribe(self, role: str, grants: Grants) -> bool:
        """A subscription that has a list of roles is theirs; others are whose may consume."""
        name = grants.subscription
        if not name.strip():
            return True
        listed = grants.auth.subscriptions.get(name)
        if listed and role not in _words(listed):
            return False
        return grants.mode is not SubscriptionAuthMode.PREFIX or name.startswith(role)

    def _granted(
        self, role: str, actions: Iterable[AuthAction], on: Iterable[Mapping[str, Any]]
    ) -> bool:
        for granted in on:
            own = _words(granted.get(role))
            if any(action in own for action in actions):
                return True
            if self.wildcards and any(
                _matches(pattern, role) and any(action in _words(words) for action in actions)
                for pattern, words in granted.items()
            ):
                return True
        return False


def _roles(who: Principal) -> tuple[str, ...]:
    return (who.role,) if who.proxy_role is None else (who.role, who.proxy_role)


def _holders(auth: AuthPolicies, topic: TopicName) -> list[Mapping[str, Any]]:
    """The permissions on a topic: its namespace's, its own, and those of its partitioned topic."""
    names = {str(topic), str(topic.partitioned_name)}
    found = [auth.topics.get(name) for name in names]
    return [auth.namespace, *(each for each in found if isinstance(each, Mapping))]


def _matches(pattern: str, role: str) -> bool:
    """Whether a granted role with ``*`` at its end, or its beginning, stands for this one."""
    return (pattern.endswith("*") and role.startswith(pattern[:-1])) or (
        pattern.startswith("*") and role.endswith(pattern[1:])
    )


def _words(value: Any) -> Collection[str]:
    """The roles that a record lists; a value that is no list grants nothing."""
    return value if isinstance(value, list | tuple) else ()
