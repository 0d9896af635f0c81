"""What is asked of the admin API: whether a topic deduplicates, keeps messages, and where."""

import json
import urllib.error
import urllib.request
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from magnetar.errors import NotReady
from magnetar.model.names import TopicName
from magnetar.spark.stitching import LedgerCopy, StoredLedger


def deduplicates(admin_url: str, timeout_s: float, topic: str) -> bool:
    """Whether the broker drops what producers of a loaded topic send again. Raises NotReady."""
    stats = _ask(admin_url, f"{_path(TopicName.parse(topic))}/stats", timeout_s)
    return bool(stats["deduplicationStatus"] == "Enabled")


def keeps(admin_url: str, timeout_s: float, topic: str) -> bool:
    """Whether a subscription or retention keeps messages of a topic. Raises NotReady."""
    name = TopicName.parse(topic)
    partitions = _ask(admin_url, f"{_path(name)}/partitions", timeout_s)["partitions"]
    stats = "partitioned-stats" if partitions else "stats"
    if _ask(admin_url, f"{_path(name)}/{stats}", timeout_s)["subscriptions"]:
        return True
    path = f"{_path(name.partitioned_name)}/retention?applied=true"
    kept = _ask(admin_url, path, timeout_s) or {}
    return any(kept.get(name) for name in ("retentionTimeInMinutes", "retentionSizeInMB"))


def ledgers(admin_url: str, timeout_s: float, topic: str) -> list[StoredLedger]:
    """The ledgers of a topic or partition, and where those are that were offloaded.

    Raises NotReady.
    """
    path = f"{_path(TopicName.parse(topic))}/internalStats"
    return [_ledger(each) for each in _ask(admin_url, path, timeout_s)["ledgers"]]


def _ledger(said: Any) -> StoredLedger:
    copy = said.get("copy")
    found = copy and LedgerCopy(
        copy["url"], copy["name"], copy["options"], whole=copy["missing"] == "0"
    )
    return StoredLedger(said["ledgerId"], said["entries"], found)


def _path(name: TopicName) -> str:
    return f"persistent/{name.tenant}/{name.namespace_local}/{quote(name.local, safe='')}"


def _ask(admin_url: str, path: str, timeout_s: float) -> Any:
    url = f"{admin_url.rstrip('/')}/admin/v2/{path}"
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as answer:  # noqa: S310 - an http URL.
            said = answer.read()
    except urllib.error.HTTPError as error:
        text = error.read().decode(errors="replace")[:300]
        reason = f"{error.code} {HTTPStatus(error.code).phrase}: {text}"
        raise NotReady(f"the admin API does not answer {url}: {reason}") from error
    except OSError as error:
        raise NotReady(f"no admin API answers at {admin_url}: {error}; set admin.url") from error
    return json.loads(said) if said else None
