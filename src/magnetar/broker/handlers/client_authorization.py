"""Refuses what the role of a client may not do before a topic is looked at.

Clients take AuthorizationError for final: they do not try again.
"""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.authorization.authorization_service import (
    AuthorizationService,
    client_principal,
)
from magnetar.broker.session import Session
from magnetar.errors import NotAuthorized, TenantNotFound, TopicNotFound, TransactionNotFound
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.system_topics import COORDINATORS
from magnetar.model.txn_id import TxnId


class ClientAuthorization:
    """Every method raises NotAuthorized, and nothing where authorization is off."""

    def __init__(self, service: AuthorizationService | None = None) -> None:
        """Without ``service`` authorization is off."""
        self._service = service

    @property
    def on(self) -> bool:
        """Whether anything is checked at all."""
        return self._service is not None

    async def lookup(self, session: Session, topic: TopicName, what: str = "Lookup") -> None:
        await self._check(session, Access.LOOKUP, topic, what)

    async def partitions(self, session: Session, topic: TopicName) -> None:
        """Raises TopicNotFound, too, where there is no such tenant: clients ask this first."""
        what = "Get Partition Metadata"
        await self._check(session, Access.LOOKUP, topic, what, tells_of_tenant=True)

    async def produce(self, session: Session, topic: TopicName, initial_subscription: str) -> None:
        """``initial_subscription`` is made before the producer; "": there is none."""
        await self._check(session, Access.PRODUCE, topic, "Produce")
        if initial_subscription:
            await self._check(session, Access.CONSUME, topic, "Produce", initial_subscription)

    async def consume(self, session: Session, topic: TopicName, subscription: str) -> None:
        await self._check(session, Access.CONSUME, topic, "subscribe", subscription)

    async def add_schema(self, session: Session, topic: TopicName) -> None:
        await self._check(session, Access.PRODUCE, topic, "GetOrCreateSchema")

    async def use_transaction(self, session: Session, txn_id: TxnId, owner: str | None) -> None:
        """Raise TransactionNotFound unless the role began the transaction, or is a superuser."""
        if self._service is None or owner in (None, session.role):
            return
        if not await self._service.allows(client_principal(session), Access.SUPERUSER):
            raise TransactionNotFound(
                f"Client ({session.role}) is neither the owner of the transaction {txn_id} nor a "
                "super user"
            )

    async def act_for_broker(self, session: Session) -> None:
        """Only a superuser may do what brokers ask of each other."""
        if self._service is not None and not await self._service.allows(
            client_principal(session), Access.SUPERUSER
        ):
            raise NotAuthorized(f"Client ({session.role}) is not a super user")

    async def list_topics(self, session: Session, namespace: NamespaceName) -> None:
        if not await self._sees(session, namespace):
            raise _refused("Client is not authorized to GetTopicsOfNamespace", session, namespace)

    async def watch_topics(self, session: Session, namespace: NamespaceName) -> None:
        if not await self._sees(session, namespace):
            raise _refused("Proxy Client is not authorized to watchTopicList", session, namespace)

    async def _check(
        self,
        session: Session,
        access: Access,
        topic: TopicName,
        what: str,
        subscription: str = "",
        *,
        tells_of_tenant: bool = False,
    ) -> None:
        if self._service is None or (
            access is Access.LOOKUP and topic.partitioned_name == COORDINATORS
        ):
            return  # Whoever is known may use transactions: what they may change is asked there.
        try:
            allowed = await self._service.allows(
                client_principal(session), access, topic=topic, subscription=subscription
            )
        except TenantNotFound:
            if tells_of_tenant:
                missing = f"Tenant or namespace or topic does not exist: {topic.namespace}"
                raise TopicNotFound(missing) from None
            allowed = False
        if not allowed:
            raise _refused(f"Client is not authorized to {what}", session, topic)

    async def _sees(self, session: Session, namespace: NamespaceName) -> bool:
        if self._service is None:
            return True
        who, access = client_principal(session), Access.NAMESPACE_TOPICS
        try:
            return await self._service.allows(who, access, namespace=namespace)
        except TenantNotFound:
            return False


def _refused(why: str, session: Session, place: TopicName | NamespaceName) -> NotAuthorized:
    """Pulsar's words, and behind them who was refused, and where."""
    who = f"the role {session.role!a}" if session.role else "a client without a role"
    proxy = f", through the proxy {session.proxy_role!a}," if session.proxy_role else ""
    return NotAuthorized(f"{why}: {who}{proxy} on {place}")


OFF: Final = ClientAuthorization()
