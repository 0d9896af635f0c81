"""What an application hands to ``send`` as a message of ours. Pure."""

from datetime import timedelta
from typing import Any

from magnetar.client.outgoing_message import OutgoingMessage

from .checks import check_type_or_none
from .schema.schema import Schema


def built(
    schema: Schema,
    content: Any,
    properties: dict[str, str] | None,
    partition_key: str | None,
    ordering_key: str | None,
    sequence_id: int | None,
    replication_clusters: list[str] | None,
    disable_replication: bool | None,
    event_timestamp: int | None,
    deliver_at: int | None,
    deliver_after: timedelta | None,
) -> OutgoingMessage:
    """The message. As in theirs an empty text or a 0 is the same as leaving it out.

    Raises TypeError for content that the schema does not take and for properties that are not
    text, ValueError for other arguments of a wrong type.
    """
    data = None if content is None else schema.encode(content)
    check_type_or_none(bytes, data, "data")
    check_type_or_none(dict, properties, "properties")
    check_type_or_none(str, partition_key, "partition_key")
    check_type_or_none(str, ordering_key, "ordering_key")
    check_type_or_none(int, sequence_id, "sequence_id")
    check_type_or_none(list, replication_clusters, "replication_clusters")
    check_type_or_none(bool, disable_replication, "disable_replication")
    check_type_or_none(int, event_timestamp, "event_timestamp")
    check_type_or_none(int, deliver_at, "deliver_at")
    check_type_or_none(timedelta, deliver_after, "deliver_after")
    for key, value in (properties or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"properties are text by text, not {key!r}: {value!r}")
    return OutgoingMessage(
        data or b"",
        key=partition_key or None,
        ordering_key=ordering_key.encode() if ordering_key else None,
        properties=properties or None,
        event_time_ms=event_timestamp or None,
        sequence_id=sequence_id or None,
        deliver_after_s=deliver_after.total_seconds() if deliver_after else None,
        deliver_at_ms=deliver_at or None,
        null_value=content is None,
        replication_clusters=() if disable_replication else replication_clusters or None,
    )
