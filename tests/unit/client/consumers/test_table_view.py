"""A table view in trouble: lost connections, a topic that is gone, values that cannot be read."""

import pytest
from support.loop import until
from unit.client.peer import refuse

from magnetar import OutgoingMessage
from magnetar.errors import AlreadyClosed, NotAuthorized
from magnetar.schemas.primitives import StringSchema
from magnetar.wire.commands import BaseCommand


async def put(client, **values):
    async with client.create_producer("t") as producer:
        await producer.send_many([OutgoingMessage(value, key=key) for key, value in values.items()])


async def test_after_a_lost_connection_it_goes_on_where_it_was(peer, client):
    await put(client, a=b"0", b=b"1")
    table = await client.create_table_view("t")
    changes = []
    table.listen(lambda key, value: changes.append((key, value)))
    peer.connections[0].drop()
    await put(client, a=b"2")
    await table.refresh(5)
    assert dict(table) == {"a": b"2", "b": b"1"}
    assert changes == [("a", b"2")]
    asked = [command.subscribe for command in peer.of(BaseCommand.SUBSCRIBE)]
    assert all(one.read_compacted and not one.durable for one in asked)
    assert len(asked) == 2


async def test_a_topic_that_is_refused_later_ends_it(peer, client, caplog):
    await put(client, a=b"0")
    table = await client.create_table_view("t")
    peer.script(BaseCommand.SUBSCRIBE, refuse("subscribe", NotAuthorized("no longer")))
    peer.connections[0].drop()
    await until(lambda: "table_view.ended" in caplog.text)
    with pytest.raises(NotAuthorized, match="no longer"):
        await table.refresh(5)
    assert table["a"] == b"0"


async def test_one_that_cannot_be_made_leaves_nothing_behind(peer, client):
    peer.script(BaseCommand.GET_LAST_MESSAGE_ID, refuse("getLastMessageId", NotAuthorized("no")))
    with pytest.raises(NotAuthorized):
        await client.create_table_view("t")
    assert peer.of(BaseCommand.CLOSE_CONSUMER)


async def test_a_value_that_is_none_of_the_schema_is_left_out(client, caplog):
    await put(client, a=b"right", b=b"\xff", c=b"right")
    table = await client.create_table_view("t", schema=StringSchema())
    assert dict(table) == {"a": "right", "c": "right"}
    assert "table_view.undecodable key=b" in caplog.text


async def test_a_key_whose_latest_value_cannot_be_decoded_has_none_and_is_named(client):
    await put(client, a=b"right", b=b"old")
    changes = []
    table = await client.create_table_view("t", schema=StringSchema())
    table.listen(lambda *change: changes.append(change))
    await put(client, b=b"\xff")
    await table.refresh()
    assert dict(table) == {"a": "right"}
    assert list(table.undecodable) == ["b"]
    assert "b" not in table
    assert changes == [("b", None)]
    await put(client, b=b"new")
    await table.refresh()
    assert (table["b"], table.undecodable) == ("new", {})


@pytest.mark.usefixtures("peer")
async def test_who_waits_hears_that_it_was_closed(client):
    table = await client.create_table_view("t")
    assert repr(table) == "TableView(persistent://public/default/t, 0 keys)"
    await table.close()
    with pytest.raises(AlreadyClosed):
        await table.refresh()
