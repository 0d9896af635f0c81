"""Who serves a topic, how many partitions it has, and which topics a namespace has. Pure."""

from typing import cast

from magnetar.model.subscriptions import RegexSubscriptionMode
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.frames import encode


def lookup(
    request_id: int, topic: str, *, authoritative: bool = False, listener_name: str | None = None
) -> bytes:
    """``authoritative``: as the redirection that led here said."""
    return encode(
        pb.CommandLookupTopic(
            topic=topic,
            request_id=request_id,
            authoritative=authoritative,
            advertised_listener_name=listener_name,
        )
    )


def partitioned_metadata(request_id: int, topic: str, *, auto_create: bool = True) -> bytes:
    return encode(
        pb.CommandPartitionedTopicMetadata(
            topic=topic, request_id=request_id, metadata_auto_creation_enabled=auto_create
        )
    )


def topics_of_namespace(
    request_id: int,
    namespace: str,
    *,
    mode: RegexSubscriptionMode = RegexSubscriptionMode.PERSISTENT_ONLY,
    pattern: str | None = None,
    topics_hash: str | None = None,
) -> bytes:
    """With the hash of an earlier answer, only if they have changed."""
    return encode(
        pb.CommandGetTopicsOfNamespace(
            request_id=request_id,
            namespace=namespace,
            mode=cast("pb.CommandGetTopicsOfNamespace.Mode", mode),
            topics_pattern=pattern,
            topics_hash=topics_hash,
        )
    )


def watch_topic_list(request_id: int, watcher_id: int, namespace: str, pattern: str) -> bytes:
    """Answered with the list, and from then on with WATCH_TOPIC_UPDATE."""
    return encode(
        pb.CommandWatchTopicList(
            request_id=request_id,
            watcher_id=watcher_id,
            namespace=namespace,
            topics_pattern=pattern,
        )
    )


def watch_topic_list_close(watcher_id: int, request_id: int) -> bytes:
    return encode(pb.CommandWatchTopicListClose(watcher_id=watcher_id, request_id=request_id))
