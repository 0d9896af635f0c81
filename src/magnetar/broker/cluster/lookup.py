"""Which broker serves a topic: the answer to LOOKUP and to HTTP lookup."""

import asyncio

from magnetar.broker.resources import Resources
from magnetar.errors import NotOwner, TopicNotFound
from magnetar.late_dataclass import dataclass
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.bundles import Bundle
from magnetar.model.counts import OperationCounts
from magnetar.model.names import NamespaceName, TopicName

from .ownership import Ownership


@dataclass(frozen=True, slots=True)
class Found:
    """The broker of a topic."""

    address: BrokerAddress
    kept: bool
    """Clients go on with the address they know: it leads here, where the URLs of this broker may
    not. They have ``localhost``, which is another machine elsewhere, or a host that nobody
    configured. Not where there are several brokers: a client that knows them all may go on with the
    address of any, as Go's does."""


class Lookup:
    """Finds the broker of a topic."""

    def __init__(self, resources: Resources, ownership: Ownership, *, kept: bool) -> None:
        """``kept``: see ``Found``, for topics that are served here."""
        self._resources = resources
        self._ownership = ownership
        self._here = Found(ownership.own, kept)
        self.counts = OperationCounts()

    async def find(self, topic: TopicName) -> Found:
        """The broker that serves ``topic``, which need not exist: this one, if nobody did.

        Raises TopicNotFound when its namespace does not exist.
        """
        with self.counts.counted(asyncio.get_running_loop().time):
            if await self._resources.namespace(topic.namespace) is None:
                raise TopicNotFound("Namespace not found")
            try:
                owner = await self._ownership.acquire(await self._resources.bundle(topic))
            except NotOwner:  # Its bundle was split, which is known now.
                owner = await self._ownership.acquire(await self._resources.bundle(topic))
            return self._here if owner is self._ownership.own else Found(owner, kept=False)

    async def owners_elsewhere(
        self, namespace: NamespaceName
    ) -> list[tuple[Bundle, BrokerAddress]]:
        """The bundles of a namespace that other brokers serve, each with its owner."""
        policies = await self._resources.namespace(namespace)
        found = []
        for bundle in policies.bundles.of(namespace) if policies is not None else ():
            owner = await self._ownership.owner(bundle)
            if owner is not None and owner is not self._ownership.own:
                found.append((bundle, owner))
        return found
