"""What the worker asks of the broker's admin API: namespaces, topics, subscriptions."""

from typing import Any, Final

from magnetar.client.admin_api import AsyncAdminApi, segment, topic_path
from magnetar.client.config import ClientOptions
from magnetar.errors import Conflict, MagnetarError, NotFound, NotReady

TIMEOUT_S: Final = 30.0
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
        self._api = AsyncAdminApi(url, timeout_s=TIMEOUT_S, **(options or {}))

    async def prepare(self, namespace: str) -> None:
        """Make a namespace, unless it is there, in which everything stays that is written."""
        path = f"/admin/v2/namespaces/{namespace}"
        await self._ask("PUT", path, {}, fine=Conflict)
        await self._ask("POST", f"{path}/retention", _KEPT_FOR_EVER)
        await self._ask("POST", f"{path}/inactiveTopicPolicies", _NEVER_INACTIVE)
        await self._ask("PUT", f"{path}/compactionThreshold", COMPACTION_THRESHOLD_BYTES)

    async def exists(self, tenant: str, namespace: str) -> str | None:
        """Name what is missing, in Pulsar's words: the tenant, or the namespace; None: nothing."""
        if await self._ask("GET", f"/admin/v2/tenants/{segment(tenant)}", fine=NotFound) is None:
            return "Tenant does not exist"
        path = f"/admin/v2/namespaces/{segment(tenant)}/{segment(namespace)}"
        if await self._ask("GET", path, fine=NotFound) is None:
            return "Namespace does not exist"
        return None

    async def subscribed(self, topic: str, name: str) -> bool:
        """Whether a topic has a subscription of this name."""
        path = f"/admin/v2/{topic_path(topic)}/subscriptions"
        return name in (await self._ask("GET", path, fine=NotFound) or ())

    async def subscription_stats(self, topic: str, name: str) -> Any:
        """The stats of a subscription: its consumers, and which of them is active."""
        stats = await self._ask("GET", f"/admin/v2/{topic_path(topic)}/stats")
        return stats["subscriptions"].get(name, {})

    async def settled(self, fqfn: str) -> None:
        """Have a worker, which this is the API of, say when it runs nothing of how it was."""
        path = "/".join(map(segment, fqfn.split("/")))
        await self._ask("GET", f"/admin/v2/worker/settled/{path}")

    async def delete_topic(self, topic: str) -> None:
        """Delete a topic that is not needed; one that is gone is fine."""
        await self._ask("DELETE", f"/admin/v2/{topic_path(topic)}?force=true", fine=NotFound)

    async def delete_subscription(self, topic: str, name: str) -> None:
        """Delete a subscription; one that is gone is fine."""
        path = f"/admin/v2/{topic_path(topic)}/subscription/{segment(name)}"
        await self._ask("DELETE", f"{path}?force=true", fine=NotFound)

    async def _ask(
        self, method: str, path: str, body: Any = None, fine: type[MagnetarError] | None = None
    ) -> Any:
        """The value of an answer; None for a ``fine`` refusal. Raises NotReady for any other."""
        try:
            return await self._api.send(method, path, body)
        except MagnetarError as error:
            if fine is not None and isinstance(error, fine):
                return None
            raise NotReady(f"{method} {path} at the broker: {error}") from error
