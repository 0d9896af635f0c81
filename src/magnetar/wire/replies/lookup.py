"""Who serves a topic, how many partitions it has, and which topics a namespace has. Pure."""

from collections.abc import Iterable

from magnetar.errors import MagnetarError
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.errors import to_code
from magnetar.wire.frames import encode


def lookup_connect(
    request_id: int,
    url: str,
    *,
    url_tls: str | None = None,
    authoritative: bool = True,
    proxy_through_service_url: bool = False,
) -> bytes:
    """The owner is there."""
    return encode(
        pb.CommandLookupTopicResponse(
            brokerServiceUrl=url,
            brokerServiceUrlTls=url_tls,
            response=pb.CommandLookupTopicResponse.Connect,
            request_id=request_id,
            authoritative=authoritative,
            proxy_through_service_url=proxy_through_service_url,
        )
    )


def lookup_redirect(
    request_id: int, url: str, *, url_tls: str | None = None, authoritative: bool = False
) -> bytes:
    """Ask again there."""
    return encode(
        pb.CommandLookupTopicResponse(
            brokerServiceUrl=url,
            brokerServiceUrlTls=url_tls,
            response=pb.CommandLookupTopicResponse.Redirect,
            request_id=request_id,
            authoritative=authoritative,
        )
    )


def lookup_failed(request_id: int, error: MagnetarError) -> bytes:
    return encode(
        pb.CommandLookupTopicResponse(
            response=pb.CommandLookupTopicResponse.Failed,
            request_id=request_id,
            error=to_code(error),
            message=str(error),
        )
    )


def partitioned_metadata(request_id: int, partitions: int) -> bytes:
    """``partitions`` is 0 for a topic that is not partitioned."""
    return encode(
        pb.CommandPartitionedTopicMetadataResponse(
            partitions=partitions,
            request_id=request_id,
            response=pb.CommandPartitionedTopicMetadataResponse.Success,
        )
    )


def partitioned_metadata_failed(request_id: int, error: MagnetarError) -> bytes:
    return encode(
        pb.CommandPartitionedTopicMetadataResponse(
            request_id=request_id,
            response=pb.CommandPartitionedTopicMetadataResponse.Failed,
            error=to_code(error),
            message=str(error),
        )
    )


def topics_of_namespace(
    request_id: int,
    topics: Iterable[str],
    *,
    topics_hash: str,
    filtered: bool = False,
    changed: bool = True,
) -> bytes:
    """``filtered``: the request's pattern was applied. Not ``changed``: its hash still holds."""
    return encode(
        pb.CommandGetTopicsOfNamespaceResponse(
            request_id=request_id,
            topics=topics,
            filtered=filtered,
            topics_hash=topics_hash,
            changed=changed,
        )
    )


def watch_topic_list_success(
    request_id: int, watcher_id: int, topics: Iterable[str], *, topics_hash: str
) -> bytes:
    return encode(
        pb.CommandWatchTopicListSuccess(
            request_id=request_id, watcher_id=watcher_id, topic=topics, topics_hash=topics_hash
        )
    )


def watch_topic_update(
    watcher_id: int, came: Iterable[str], went: Iterable[str], *, topics_hash: str
) -> bytes:
    """The hash is that of all topics of the watcher, as they are now."""
    return encode(
        pb.CommandWatchTopicUpdate(
            watcher_id=watcher_id, new_topics=came, deleted_topics=went, topics_hash=topics_hash
        )
    )
