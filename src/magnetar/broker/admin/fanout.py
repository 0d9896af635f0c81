"""Answers requests about a partitioned topic by requests about its partitions.

The record of a partitioned topic is written first and removed last, so that an interrupted request
can be repeated; a missing partition is created when a client first uses it.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from magnetar.broker.admin.owners import Answers, Owners, granted, path_of
from magnetar.broker.authorization.permissions import Permissions
from magnetar.broker.policies import PolicyService
from magnetar.broker.schema.registry import SchemaRegistry
from magnetar.model.names import TopicName
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Request
from magnetar.turns import batches

PARTITIONS_AT_ONCE_MAX: Final = 64
"""Partitions that are made or deleted side by side: their records share syncs of the metadata."""

_NO_QUERY: Final[Mapping[str, str]] = MappingProxyType({})
_BEGINNING: Final = {"ledgerId": -1, "entryId": -1}


class Fanout:
    """Creates, grows and deletes all partitions of a topic, wherever they are served."""

    def __init__(
        self,
        owners: Owners,
        schemas: SchemaRegistry,
        *,
        policies: PolicyService,
        permissions: Permissions,
    ) -> None:
        self._owners = owners
        self._schemas = schemas
        self._policies = policies
        self._permissions = permissions

    async def create(
        self, topic: TopicName, partitions: int, properties: dict[str, str] | None = None
    ) -> None:
        """Raises what ``Creation.create_partitioned`` raises, and Rejection."""
        await self._owners.creation.create_partitioned(topic, partitions, properties)
        await self._make(await self._owners.access.partitions(topic))

    async def create_missed(self, topic: TopicName) -> None:
        """Create the partitions that do not exist yet. Raises Rejection."""
        names = await self._owners.access.partitions(topic)
        granted(await self._ask_each(names, "PUT"), but=409)

    async def grow(self, topic: TopicName, partitions: int) -> None:
        """More partitions, each with the durable subscriptions of the first, from its beginning.

        Raises what ``Creation.grow`` raises, and Rejection.
        """
        had = await self._owners.creation.grow(topic, partitions)
        first = topic.partition(0)
        subscriptions = {}
        for reply in granted({first: await self._owners.ask_topic(first, "GET", "/stats")}):
            subscriptions = json.loads(reply.body)["subscriptions"]
        names = list(map(topic.partition, range(had, partitions)))
        await self._make(names)
        for subscription, stats in subscriptions.items():
            if stats["isDurable"]:
                rest = f"/subscription/{quote(subscription, safe='')}"
                at = {**_BEGINNING, "properties": stats["subscriptionProperties"]}
                body = json.dumps(at).encode()
                granted(await self._ask_each(names, "PUT", rest, body), but=409)

    async def _make(self, names: list[TopicName]) -> None:
        """Make partitions that should be new: those served here without a request each.

        Raises Rejection.
        """
        asked: list[TopicName] = []
        for some in batches(names, PARTITIONS_AT_ONCE_MAX):
            asked += await self._owners.access.make(some)
        granted(await self._ask_each(asked, "PUT"), but=409)

    async def delete(self, topic: TopicName, *, force: bool) -> None:
        """Delete all partitions, or none when one is in use and ``force`` is off.

        Raises Rejection, and TopicNotFound.
        """
        names = await self._owners.partitions(topic)
        for dry_run in ("false",) if force else ("true", "false"):
            query = {"force": str(force).lower(), "dryRun": dry_run}
            answers = await self._ask_each(names, "DELETE", query=query)
            if any(reply.status == 412 for reply in answers.values()):
                raise Rejection(412, "Topic has active producers/subscriptions")
            for name, reply in answers.items():
                granted({name: reply})
        await self._schemas.forget(topic)
        await self._policies.forget(topic)
        await self._permissions.topic_deleted(topic)
        await self._owners.resources.delete_partitioned_topic(topic)

    async def _ask_each(
        self,
        names: list[TopicName],
        method: str,
        rest: str = "",
        body: bytes = b"",
        *,
        query: Mapping[str, str] = _NO_QUERY,
    ) -> Answers:
        return await self._owners.ask_all(
            names,
            lambda name: Request(method, path_of(name) + rest, query, body=body, content_type=JSON),
            at_once=PARTITIONS_AT_ONCE_MAX,
        )
