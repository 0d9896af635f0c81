"""Where the copy of an offloaded ledger is: a part of the list of ledgers. Pure.

    {"uid": "0a1b...", "complete": true, "bookkeeperDeleted": false, "timestamp": 1700000000000,
     "driver": {"name": "filesystem", "properties": {"url": "file:///srv", "name": "7.parquet"}}}

The fields are those of Pulsar's OffloadContext; ``bookkeeperDeleted`` is our local copy.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from magnetar.storage.codec.json_object import NO_TEXTS, Fields


class OffloadContext(NamedTuple):
    """A copy of a ledger, or an attempt to make one."""

    uid: str
    driver: str
    properties: Mapping[str, str] = NO_TEXTS  # What the offloader needs to find it; no secrets.
    complete: bool = False  # All of it is there, and was verified.
    local_deleted: bool = False  # There is no other copy.
    timestamp_ms: int = 0  # When it was complete.


def encode_context(context: OffloadContext) -> dict[str, Any]:
    return {
        "uid": context.uid,
        "complete": context.complete,
        "bookkeeperDeleted": context.local_deleted,
        "timestamp": context.timestamp_ms,
        "driver": {"name": context.driver, "properties": dict(context.properties)},
    }


def decode_context(fields: Fields) -> OffloadContext:
    """Raises InvalidValue."""
    driver = fields.part("driver")
    return OffloadContext(
        fields.text("uid"),
        driver.text("name"),
        driver.texts("properties"),
        fields.flag("complete"),
        fields.flag("bookkeeperDeleted"),
        fields.number("timestamp"),
    )
