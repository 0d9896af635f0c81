"""What the worker asks of the broker's admin API: namespaces, topics, subscriptions."""

import asyncio
import json
from typing import Any, Final
from urllib.parse import quote

from magnetar.client.admin_api import AdminApi
from magnetar.client.config import ClientOptions
from magnetar.errors import Conflict, MagnetarError, NotFound, NotReady
from magnetar.model.names import TopicName

TIMEOUT_S: Final = 30.0
_STATUSES: Final = {NotFound: 404, Conflict: 409}
_KEPT_FOR_EVER: Final = {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1}
_NEVER_INACTIVE: Final = {
    "deleteWhileInactive": False,
    "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
    "maxInactiveDurationSeconds": 60,
}
COMPACTION_THRESHOLD_BYTES: Final = 1024 * 1024


class Admin:
    """The admin API of a broker."""

    def __init__(self, url: str, options: ClientOptions | None = None) -> None:
        """``options`` are a client's: it is asked with its credentials."""
        self._api = AdminApi(url, timeout_s=TIMEOUT_S, **(options or {}))

    async def prepare(self, namespace: str) -> None:
        """Make a namespace, unless it is there, in which everything stays that is written."""
        path = f"/admin/v2/namespaces/{namespace}"
        await self._ask("PUT", path, {}, fine=(409,))
        await self._ask("POST", f"{path}/retention", _KEPT_FOR_EVER)
        await self._ask("POST", f"{path}/inactiveTopicPolicies", _NEVER_INACTIVE)
        await self._ask("PUT", f"{path}/compactionThreshold", COMPACTION_THRESHOLD_BYTES)

    async def exists(self, tenant: str, namespace: str) -> str | None:
        """What is missing, in Pulsar's words: the tenant, or the namespace; None: nothing."""
        if await self._ask("GET", f"/admin/v2/tenants/{quote(tenant)}", fine=(404,)) == 404:
            return "Tenant does not exist"
        path = f"/admin/v2/namespaces/{quote(tenant)}/{quote(namespace)}"
        if await self._ask("GET", path, fine=(404,)) == 404:
            return "Namespace does not exist"
        return None

    async def subscribed(self, topic: str, name: str) -> bool:
        """Whether a topic has a subscription of this name."""
        status, said = await self._answer("GET", f"{_path(topic)}/subscriptions", fine=(404,))
        return status != 404 and name in said

    async def delete_topic(self, topic: str) -> None:
        """Delete a topic that nobody needs; one that is gone is fine."""
        await self._ask("DELETE", f"{_path(topic)}?force=true", fine=(404,))

    async def delete_subscription(self, topic: str, name: str) -> None:
        """Delete a subscription; one that is gone is fine."""
        path = f"{_path(topic)}/subscription/{quote(name, safe='')}?force=true"
        await self._ask("DELETE", path, fine=(404,))

    async def _ask(
        self, method: str, path: str, body: Any = None, fine: tuple[int, ...] = ()
    ) -> int:
        """The status of an answer. Raises NotReady, unless it is a good or a ``fine`` one."""
        status, _ = await self._answer(method, path, body, fine)
        return status

    async def _answer(
        self, method: str, path: str, body: Any = None, fine: tuple[int, ...] = ()
    ) -> tuple[int, Any]:
        return await asyncio.to_thread(self._asked, method, path, body, fine)

    def _asked(self, method: str, path: str, body: Any, fine: tuple[int, ...]) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if data is not None else {}
        try:
            answer = self._api.ask(method, path, data, headers=headers)
        except MagnetarError as error:
            status = next((code for kind, code in _STATUSES.items() if isinstance(error, kind)), 0)
            if status in fine:
                return status, None
            raise NotReady(f"{method} {path} at the broker: {error}") from error
        return answer.status, answer.value()


def _path(topic: str) -> str:
    name = TopicName.parse(topic)
    local = quote(name.local, safe="")
    return f"/admin/v2/{name.domain}/{name.tenant}/{name.namespace_local}/{local}"
