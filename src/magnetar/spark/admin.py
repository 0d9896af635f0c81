"""What is asked of the admin API: whether a topic deduplicates, keeps messages, and where."""

import asyncio
import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from http import HTTPStatus
from threading import Event
from typing import Any, Final
from urllib.parse import quote

from magnetar.client.config import ClientConfig
from magnetar.client.connections.credentials import Credentials
from magnetar.client.connections.http_lookup import credential_headers
from magnetar.client.connections.tls import Tls
from magnetar.clock import SystemClock
from magnetar.errors import NotReady
from magnetar.model.names import TopicName
from magnetar.spark.client_settings import ClientSettings
from magnetar.spark.stitching import LedgerCopy, StoredLedger

_PAUSE_S: Final = 0.2
_ANY: Final = "pulsar+ssl://localhost"  # Not connected to: just the settings are of use here.


class _Away(NotReady):
    """Nobody answers, or who answers is starting or stopping."""


@dataclass(frozen=True, slots=True)
class AdminApi:
    """Where it is, and how it is asked: with the client's credentials and TLS settings."""

    url: str
    timeout_s: float
    retry_forever: bool = False
    client: ClientSettings = field(default_factory=ClientSettings)

    def deduplicates(self, topic: str) -> bool:
        """Whether the broker drops what producers of a loaded topic send again.

        Waits for a broker that is away, as for its other answers. Raises NotReady.
        """
        clock = SystemClock()
        deadline = clock.now() + self.timeout_s
        while True:
            try:
                stats = self._ask(f"{_path(TopicName.parse(topic))}/stats")
            except _Away:
                if not self.retry_forever and clock.now() > deadline:
                    raise
                Event().wait(_PAUSE_S)  # Nobody tells when it is back.
            else:
                return bool(stats["deduplicationStatus"] == "Enabled")

    def keeps(self, topic: str) -> bool:
        """Whether a subscription or retention keeps messages of a topic. Raises NotReady."""
        name = TopicName.parse(topic)
        partitions = self._ask(f"{_path(name)}/partitions")["partitions"]
        stats = "partitioned-stats" if partitions else "stats"
        if self._ask(f"{_path(name)}/{stats}")["subscriptions"]:
            return True
        kept = self._ask(f"{_path(name.partitioned_name)}/retention?applied=true") or {}
        return any(kept.get(name) for name in ("retentionTimeInMinutes", "retentionSizeInMB"))

    def ledgers(self, topic: str) -> list[StoredLedger]:
        """The ledgers of a topic or partition, and where those are that were offloaded.

        Raises NotReady.
        """
        said = self._ask(f"{_path(TopicName.parse(topic))}/internalStats")
        return [_ledger(each) for each in said["ledgers"]]

    def _ask(self, path: str) -> Any:
        url = f"{self.url.rstrip('/')}/admin/v2/{path}"
        config = ClientConfig(service_url=_ANY, **self.client.options())
        credentials = Credentials(config.authentication)
        shown = credential_headers(credentials.method, asyncio.run(credentials.data()))
        request = urllib.request.Request(url, headers=shown)  # noqa: S310 - an http URL.
        tls: ssl.SSLContext | None = Tls(config).context() if url.startswith("https:") else None
        try:
            with urllib.request.urlopen(  # noqa: S310 - as above.
                request, timeout=self.timeout_s, context=tls
            ) as answer:
                said = answer.read()
        except urllib.error.HTTPError as error:
            text = " ".join(error.read().decode(errors="replace").split())[:300]
            reason = f"{error.code} {HTTPStatus(error.code).phrase}: {text}"
            if error.code == HTTPStatus.UNAUTHORIZED:
                reason += "; it is asked with pulsar.client.authPluginClassName and authParams"
            kind = _Away if error.code == HTTPStatus.SERVICE_UNAVAILABLE else NotReady
            raise kind(f"the admin API does not answer {url}: {reason}") from error
        except OSError as error:
            why = getattr(error, "reason", error)
            kind = NotReady if isinstance(why, ssl.SSLError) else _Away
            raise kind(f"no admin API answers at {self.url}: {why}; set admin.url") from error
        return json.loads(said) if said else None


def _ledger(said: Any) -> StoredLedger:
    copy = said.get("copy")
    found = copy and LedgerCopy(
        copy["url"], copy["name"], copy["options"], whole=copy["missing"] == "0"
    )
    return StoredLedger(said["ledgerId"], said["entries"], found)


def _path(name: TopicName) -> str:
    return f"persistent/{name.tenant}/{name.namespace_local}/{quote(name.local, safe='')}"
