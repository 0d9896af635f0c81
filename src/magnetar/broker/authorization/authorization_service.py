"""Asks the rules whether a role may do something, by what the metadata store has of the place.

Everything it reads is in a cache that a watch keeps true, so that an answer costs a few look-ups
and a change holds from the next question on.
"""

from typing import Final

from magnetar.auth.access import Access
from magnetar.auth.authorization import AuthorizationRules, Grants, Principal
from magnetar.broker.resources import Resources
from magnetar.broker.session import Session
from magnetar.errors import NotAuthorized, TenantNotFound
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.policy_values import AuthPolicies
from magnetar.model.system_topics import is_change_events

_OF_MESSAGES: Final = (Access.PRODUCE, Access.CONSUME)


class AuthorizationService:
    """There is one where authorization is on; where there is none, everybody may do everything."""

    def __init__(self, rules: AuthorizationRules, resources: Resources) -> None:
        self.rules = rules
        self._resources = resources

    async def allows(
        self,
        who: Principal,
        access: Access,
        *,
        tenant: str = "",
        namespace: NamespaceName | None = None,
        topic: TopicName | None = None,
        subscription: str = "",
    ) -> bool:
        """Whether it may; what is not named grants nothing.

        Raises TenantNotFound for a tenant that is not there, unless a superuser asks; NotAuthorized
        for the name of a subscription that does not begin with the role, where it must.
        """
        if self.rules.allow(who, access, Grants()):
            return True
        if topic is not None:
            namespace = topic.namespace
        if namespace is not None:
            tenant = namespace.tenant
        if access is Access.SUPERUSER or self.rules.bar(who, access, tenant):
            return False
        info = await self._resources.tenant(tenant) if tenant else None
        if info is None:
            raise TenantNotFound("Tenant does not exist")
        if topic is not None and access in _OF_MESSAGES and is_change_events(topic):
            return False  # Its messages are policies, of which only a superuser may set some.
        stored = None if namespace is None else await self._resources.namespace(namespace)
        policies = None if stored is None else stored.policies
        grants = Grants(
            info.admin_roles,
            (policies.auth if policies else None) or AuthPolicies(),
            policies.subscription_auth_mode if policies else None,
            topic,
            subscription,
        )
        if self.rules.allow(who, access, grants):
            return True
        role = self.rules.prefix_missed(who, grants) if access is Access.CONSUME else ""
        if role:
            raise NotAuthorized(
                "Failed to create consumer - The subscription name needs to be prefixed by the "
                f"authentication role, like {role}-xxxx for topic: {topic}"
            )
        return False


def client_principal(session: Session) -> Principal:
    """Whose permissions a client needs; one without a role has none."""
    return Principal(session.role or "", session.proxy_role)
