"""Asks the owner of a topic ``__change_events``: this broker itself, or another by its admin API.

A topic that is being opened waits for the answer, and a bundle that is being unloaded waits for the
topics of it that are being opened: so nobody waits here for a bundle to be unloaded.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import quote

from magnetar.broker.cluster.ownership import Ownership
from magnetar.broker.peers import MISDIRECTED
from magnetar.broker.resources import Resources
from magnetar.clock import Clock
from magnetar.errors import NotOwner, NotReady, Refused
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.names import TopicName
from magnetar.model.position import Position
from magnetar.model.records import Json
from magnetar.rest.exchange import JSON, Reply, Request

from .event import EventKey
from .event_logs import EventLogs, Events

LOOKUPS_MAX: Final = 5
"""How often the owner of what moves is looked up for one question."""
AGAIN_S: Final = 0.1
SEGMENT: Final = "policyEvents"
"""What follows the name of the topic in the path of both routes."""

T = TypeVar("T")


class Peers(Protocol):
    """The other brokers."""

    async def ask(self, broker: BrokerAddress, request: Request) -> Reply:
        """What a broker's admin API answers. Raises NotReady where it does not."""


class EventOwners:
    """As ``EventLogs``, for topics that any broker serves."""

    def __init__(
        self,
        logs: EventLogs,
        resources: Resources,
        ownership: Ownership,
        peers: Peers,
        clock: Clock,
    ) -> None:
        self._logs = logs
        self._resources = resources
        self._ownership = ownership
        self._peers = peers
        self._clock = clock

    async def since(self, name: TopicName, after: Position | None) -> Events:
        """The events of a topic behind a position.

        Raises NotReady where its owner does not answer, or is no broker of ours, and what
        ``EventLogs`` raises here.
        """
        query = {} if after is None else {"after": str(after)}
        request = Request("GET", _path(name), query)
        return await self._ask(
            name, lambda: self._logs.since(name, after), request, Events.from_json
        )

    async def put(
        self, name: TopicName, key: EventKey, policies: Json | None, instead_of: Position | None
    ) -> bool:
        """Append an event instead of another. False: that is not the newest.

        Raises as ``since``, and Refused.
        """
        body = {"key": str(key), "policies": policies, "insteadOf": instead_of}
        request = Request("POST", _path(name), body=json.dumps(body).encode(), content_type=JSON)

        return await self._ask(
            name, lambda: self._logs.put(name, key, policies, instead_of), request, bool
        )

    async def _ask(
        self,
        name: TopicName,
        here: Callable[[], Awaitable[T]],
        request: Request,
        read: Callable[[Any], T],
    ) -> T:
        for left in reversed(range(LOOKUPS_MAX)):
            bundle = await self._resources.bundle(name)
            if self._ownership.gives_up(bundle):
                raise NotReady(f"Bundle {bundle} with {name} is being unloaded: try again")
            owner = await self._ownership.acquire(bundle)
            if owner is self._ownership.own:
                try:
                    return await here()
                except NotOwner:
                    if not left:
                        raise
            else:
                reply = await self._peers.ask(owner, request)
                if reply.status < 400:
                    return read(json.loads(reply.body))
                if reply.status != MISDIRECTED:
                    raise _refusal(owner, name, reply)
            await self._clock.sleep(AGAIN_S)
        raise NotReady(f"The owner of {name} changes: try again")


def _path(name: TopicName) -> str:
    return f"/admin/v2/{name.domain}/{name.namespace}/{quote(name.local, safe='')}/{SEGMENT}"


def _refusal(owner: BrokerAddress, name: TopicName, reply: Reply) -> Exception:
    said: Any = reply.body.decode(errors="replace")
    error = Refused if reply.status in {400, 412} else NotReady
    return error(f"{owner.name}, which serves {name}, answered {reply.status}: {said:.300}")
