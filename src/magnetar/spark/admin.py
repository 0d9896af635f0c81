"""Asks the admin API whether a topic deduplicates, keeps messages, and where."""

from dataclasses import dataclass, field
from threading import Event
from typing import Any, Final

from magnetar.client import admin_api
from magnetar.clock import SystemClock
from magnetar.errors import MagnetarError, NotReady, Unreachable
from magnetar.model.names import TopicName
from magnetar.spark.client_settings import ClientSettings, OfClient
from magnetar.spark.stitching import LedgerCopy, StoredLedger

_PAUSE_S: Final = 0.2
_AWAY: Final = (Unreachable, NotReady)
"""No broker answers, or the one that does is starting or stopping."""
_REMEDIES: Final = admin_api.Remedies(
    "set admin.url", "it is asked with pulsar.client.authPluginClassName and authParams"
)


@dataclass(frozen=True, slots=True)
class TopicAdmin:
    """Where it is, and how it is asked: with the client's credentials and TLS settings.

    Every method raises as those of ``client.admin_api`` do.
    """

    url: str
    timeout_s: float
    retry_forever: bool = False
    client: OfClient = field(default_factory=ClientSettings)

    def deduplicates(self, topic: str) -> bool:
        """Whether the broker drops what producers of a loaded topic send again.

        Waits for a broker that is away, as for its other answers.
        """
        stats = self._ask_until_there(f"{admin_api.topic_path(topic)}/stats")
        return bool(stats["deduplicationStatus"] == "Enabled")

    def message_size_max(self, topic: str) -> int | None:
        """The ``maxMessageSize`` of a topic itself, 0 without; None where it does not say.

        Who may write to a topic need not be let see its policies. Waits as ``deduplicates``.
        """
        whole = admin_api.topic_path(str(TopicName.parse(topic).partitioned_name))
        try:
            return int(self._ask_until_there(f"{whole}/maxMessageSize") or 0)
        except _AWAY:
            raise
        except MagnetarError:
            return None

    def keeps(self, topic: str) -> bool:
        """Whether a subscription or retention keeps messages of a topic."""
        path = admin_api.topic_path(topic)
        partitions = self._ask(f"{path}/partitions")["partitions"]
        stats = "partitioned-stats" if partitions else "stats"
        if self._ask(f"{path}/{stats}")["subscriptions"]:
            return True
        whole = admin_api.topic_path(str(TopicName.parse(topic).partitioned_name))
        kept = self._ask(f"{whole}/retention?applied=true") or {}
        return any(kept.get(name) for name in ("retentionTimeInMinutes", "retentionSizeInMB"))

    def ledgers(self, topic: str) -> list[StoredLedger]:
        """The ledgers of a topic or partition, and where those are that were offloaded."""
        said = self._ask(f"{admin_api.topic_path(topic)}/internalStats")
        return [_ledger(each) for each in said["ledgers"]]

    def _ask_until_there(self, path: str) -> Any:
        clock = SystemClock()
        deadline = clock.now() + self.timeout_s
        while True:
            try:
                return self._ask(path)
            except _AWAY:
                if not self.retry_forever and clock.now() > deadline:
                    raise
                Event().wait(_PAUSE_S)  # Nobody tells when it is back.

    def _ask(self, path: str) -> Any:
        api = admin_api.AdminApi(
            self.url,
            timeout_s=self.timeout_s,
            **self.client.options(),
            remedies=_REMEDIES,
        )
        return api.get(f"/admin/v2/{path}")


def _ledger(said: Any) -> StoredLedger:
    copy = said.get("copy")
    found = copy and LedgerCopy(
        copy["url"], copy["name"], copy["options"], whole=copy["missing"] == "0"
    )
    return StoredLedger(said["ledgerId"], said["entries"], found)
