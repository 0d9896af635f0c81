import pytest
from unit.client.peer import Peer, hang_up, refuse

from magnetar.client.client import Client
from magnetar.client.connections.lookup import addresses
from magnetar.errors import (
    ConnectionLost,
    InvalidValue,
    NotAllowed,
    NotAuthorized,
    NotReady,
    TopicNotFound,
)
from magnetar.wire import replies
from magnetar.wire.commands import BaseCommand


def redirect(peer, *, authoritative=False):
    return lambda c, f: c.write(
        replies.lookup_redirect(
            f.command.lookupTopic.request_id, peer.url, authoritative=authoritative
        )
    )


def fail(error):
    return lambda c, f: c.write(replies.lookup_failed(f.command.lookupTopic.request_id, error))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("pulsar://host", ["host:6650"]),
        ("pulsar://host:7000/", ["host:7000"]),
        ("pulsar://a:1,b,c:3", ["a:1", "b:6650", "c:3"]),
        ("pulsar://[::1]:7000", ["[::1]:7000"]),
        ("pulsar://[::1]", ["[::1]:6650"]),
    ],
)
def test_service_urls_are_read(url, expected):
    assert addresses(url) == expected


@pytest.mark.parametrize("url", ["localhost:6650", "pulsar://", "pulsar://h:x", "pulsar://h:70000"])
def test_what_is_no_service_url_is_refused(url):
    with pytest.raises(InvalidValue, match="service URL"):
        addresses(url)


@pytest.mark.parametrize("url", ["http://h:8080", "pulsar+ssl://h:6651"])
def test_other_schemes_are_refused_by_name(url):
    with pytest.raises(NotAllowed, match=r"only pulsar://"):
        addresses(url)


async def test_a_redirect_is_followed_with_the_authority_it_gives(peer, client):
    other = Peer()
    await other.start()
    try:
        peer.script(BaseCommand.LOOKUP, redirect(other, authoritative=True))
        producer = await client.create_producer("t")
        assert other.of(BaseCommand.LOOKUP)[0].lookupTopic.authoritative
        assert len(other.of(BaseCommand.PRODUCER)) == 1
        assert peer.of(BaseCommand.PRODUCER) == []
        await producer.close()
    finally:
        await other.stop()


async def test_redirects_end_somewhere(peer, lookup):
    peer.script(BaseCommand.LOOKUP, *[redirect(peer)] * 4)
    with pytest.raises(NotReady, match="after 3 redirects"):
        await lookup.connect("persistent://public/default/t")
    assert len(peer.of(BaseCommand.LOOKUP)) == 4


async def test_behind_a_proxy_the_connection_goes_through_the_service_url(peer, client):
    peer.script(
        BaseCommand.LOOKUP,
        lambda c, f: c.write(
            replies.lookup_connect(
                f.command.lookupTopic.request_id,
                "pulsar://broker-7.internal:6650",
                proxy_through_service_url=True,
            )
        ),
    )
    await client.create_producer("t")
    connects = [command.connect for command in peer.of(BaseCommand.CONNECT)]
    assert [c.proxy_to_broker_url for c in connects] == ["", "broker-7.internal:6650"]


async def test_trouble_that_may_pass_is_retried(peer, client):
    peer.script(BaseCommand.LOOKUP, fail(NotReady("starting")), hang_up)
    peer.script(
        BaseCommand.PARTITIONED_METADATA, refuse("partitionMetadata", NotReady("starting")), hang_up
    )
    await client.create_producer("t")
    assert len(peer.of(BaseCommand.LOOKUP)) == 3
    assert len(peer.of(BaseCommand.PARTITIONED_METADATA)) == 3


async def test_trouble_that_will_not_pass_is_raised_at_once(peer, client):
    peer.script(BaseCommand.LOOKUP, fail(TopicNotFound("Namespace not found")))
    with pytest.raises(TopicNotFound, match="Namespace not found"):
        await client.create_producer("t")
    peer.script(
        BaseCommand.PARTITIONED_METADATA,
        lambda c, f: c.write(
            replies.partitioned_metadata_failed(
                f.command.partitionMetadata.request_id, NotAuthorized("no")
            )
        ),
    )
    with pytest.raises(NotAuthorized, match="no"):
        await client.create_producer("t")


async def test_retries_end_with_the_last_error_at_the_operation_timeout(peer):
    async with Client(peer.url, operation_timeout_s=0.1, backoff_first_s=0.01) as client:
        peer.script(BaseCommand.LOOKUP, *[fail(NotReady("still starting"))] * 100)
        with pytest.raises(NotReady, match="still starting"):
            await client.create_producer("t")
        peer.script(
            BaseCommand.PARTITIONED_METADATA,
            *[refuse("partitionMetadata", NotReady("still starting"))] * 100,
        )
        with pytest.raises(NotReady, match="still starting"):
            await client.partitions("t")


async def test_no_broker_at_all_is_told_as_such(peer):
    await peer.stop()
    try:
        async with Client(peer.url, operation_timeout_s=0.1, backoff_first_s=0.01) as client:
            with pytest.raises(ConnectionLost, match=f"cannot connect to {peer.address}"):
                await client.partitions("t")
    finally:
        await peer.start()


async def test_several_addresses_are_tried_in_turn(peer):
    async with Client(
        f"pulsar://127.0.0.1:1,{peer.address}", operation_timeout_s=5, backoff_first_s=0.01
    ) as client:
        assert await client.partitions("t") == 0


async def test_partitions_and_topics_are_told(peer, client):
    peer.partitions = 4
    assert await client.partitions("t") == 4
    asked = peer.of(BaseCommand.PARTITIONED_METADATA)[0].partitionMetadata
    assert asked.topic == "persistent://public/default/t"
    assert not asked.metadata_auto_creation_enabled
    assert await client.topics("public/default") == [
        "persistent://public/default/a",
        "persistent://public/default/b",
    ]
