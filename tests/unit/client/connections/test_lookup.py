import asyncio

import pytest
from support.loop import pass_time
from unit.client.peer import Peer, hang_up, refuse

from magnetar.client.client import Client
from magnetar.client.connections.lookup import _address, naming
from magnetar.errors import (
    ConnectionLost,
    InvalidValue,
    NotAuthorized,
    NotReady,
    SchemaNotFound,
    TopicNotFound,
    Unreachable,
)
from magnetar.model.schemas import SchemaInfo, SchemaType
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


async def test_where_no_broker_ever_was_the_first_attempt_says_so(peer):
    await peer.stop()
    try:
        async with Client(f"{peer.url},127.0.0.1:1", backoff_first_s=60) as client:
            with pytest.raises(Unreachable) as raised:
                await client.partitions("t")
            for address in (peer.address, "127.0.0.1:1"):
                assert f"cannot connect to {address}: connection refused" in str(raised.value)
            with pytest.raises(Unreachable):
                await client.create_producer("t")
    finally:
        await peer.start()


async def test_a_broker_that_starts_later_is_waited_for_where_that_is_wanted(peer):
    await peer.stop()
    options = {"first_connection_timeout_s": 20, "backoff_first_s": 0.01}
    async with Client(peer.url, **options) as client:
        asking = asyncio.ensure_future(client.partitions("t"))
        await pass_time(0.05)
        assert not asking.done()
        await peer.start()
        assert await asking == 0


async def test_a_broker_that_was_there_is_waited_for(peer):
    async with Client(peer.url, operation_timeout_s=0.1, backoff_first_s=0.01) as client:
        await client.partitions("t")
        await peer.stop()
        with pytest.raises(ConnectionLost, match=f"cannot connect to {peer.address}") as raised:
            await client.partitions("t")
        assert raised.value.retriable
        await peer.start()
        await client.partitions("t")


async def test_several_addresses_are_tried_in_turn(peer):
    async with Client(f"pulsar://127.0.0.1:1,{peer.address}", operation_timeout_s=5) as client:
        assert await client.partitions("t") == 0


async def test_one_that_cannot_help_is_left_for_the_next(peer):
    other = Peer()
    await other.start()
    async with Client(
        f"{peer.url},{other.address}", backoff_first_s=0.01, chance=lambda: 0.0
    ) as ours:
        for one in (peer, other):
            one.script(BaseCommand.LOOKUP, fail(NotReady("starting")))
        await ours.create_producer("t")
    assert [len(one.of(BaseCommand.LOOKUP)) for one in (peer, other)] == [2, 1]
    await other.stop()


async def test_an_advertised_address_that_cannot_be_reached_is_told_as_such(peer, lookup):
    peer.script(
        BaseCommand.LOOKUP,
        lambda c, f: c.write(
            replies.lookup_connect(f.command.lookupTopic.request_id, "pulsar://inside.invalid:6650")
        ),
    )
    says = f"the name inside.invalid is not known.*{peer.url} advertises this address"
    with pytest.raises(ConnectionLost, match=says):
        await lookup.connect("persistent://public/default/t")


async def test_the_listener_that_is_meant_is_named(peer):
    async with Client(peer.url, listener_name="external") as client:
        await client.create_producer("t")
    assert peer.of(BaseCommand.LOOKUP)[0].lookupTopic.advertised_listener_name == "external"


async def test_over_tls_an_owner_has_a_tls_address():
    assert _address("pulsar+ssl://h:6651", "t", tls=True) == "h:6651"
    with pytest.raises(InvalidValue, match=r"the owner of t has no pulsar\+ssl:// address"):
        _address("", "t", tls=True)


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


async def test_the_schema_of_a_topic_is_asked_for(peer, lookup):
    peer.script(
        BaseCommand.GET_SCHEMA,
        lambda c, f: c.write(
            replies.get_schema(
                f.command.getSchema.request_id,
                name="t",
                data=b"{}",
                kind=SchemaType.JSON,
                properties={"a": "b"},
                version=bytes(8),
            )
        ),
        lambda c, f: c.write(
            replies.get_schema_failed(f.command.getSchema.request_id, TopicNotFound("no schema"))
        ),
        lambda c, f: c.write(
            replies.get_schema_failed(f.command.getSchema.request_id, NotAuthorized("not you"))
        ),
    )
    assert await lookup.schema("t", bytes(8)) == SchemaInfo(SchemaType.JSON, b"{}", {"a": "b"})
    assert peer.of(BaseCommand.GET_SCHEMA)[0].getSchema.schema_version == bytes(8)
    with pytest.raises(SchemaNotFound, match="no schema"):
        await lookup.schema("t", None)
    assert not peer.of(BaseCommand.GET_SCHEMA)[1].getSchema.HasField("schema_version")
    with pytest.raises(NotAuthorized):
        await lookup.schema("t", None)


def test_what_is_missing_or_not_allowed_is_named():
    assert str(naming(TopicNotFound("TopicNotFound"), "orders")) == "there is no such topic: orders"
    assert str(naming(NotAuthorized("no"), "orders")) == "no: orders"
    for error in (NotAuthorized("not on orders"), NotReady("wait")):
        assert naming(error, "orders") is error
