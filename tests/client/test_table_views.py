"""The latest value of each key of a topic."""

import asyncio
import logging

import pytest
from support.admin import ask
from support.loop import until

from magnetar import Client, OutgoingMessage
from magnetar.client import blocking
from magnetar.errors import AlreadyClosed, TimedOut


async def put(client, topic, **values):
    """Publish a value for each key; None removes it."""
    async with client.create_producer(topic) as producer:
        await producer.send_many(
            [OutgoingMessage(value or b"", key=key) for key, value in values.items()]
        )


async def compact(broker, topic):
    path = topic.replace("://", "/") + "/compaction"
    ask(broker, "PUT", path)
    async with asyncio.timeout(20):
        while ask(broker, "GET", path)["status"] != "SUCCESS":  # noqa: ASYNC110 - nothing tells.
            await asyncio.sleep(0.02)


async def test_it_has_the_latest_value_of_each_key(client, topic):
    await put(client, topic, a=b"0", b=b"1", c=b"2")
    await put(client, topic, a=b"3", b=None)
    async with client.create_table_view(topic) as table:
        assert table.topic == topic
        assert dict(table) == {"a": b"3", "c": b"2"}
        assert sorted(table.items()) == [("a", b"3"), ("c", b"2")]
        assert sorted(table.keys()) == sorted(table) == ["a", "c"]
        assert sorted(table.values()) == [b"2", b"3"]
        assert (table.get("a"), table.get("b"), table["c"]) == (b"3", None, b"2")
        assert "a" in table
        assert "b" not in table
        assert len(table) == 2
        with pytest.raises(KeyError):
            table["b"]


async def test_what_was_published_before_a_refresh_is_in(client, topic):
    table = await client.create_table_view(topic)
    assert len(table) == 0
    for number in range(20):
        await put(client, topic, key=b"%d" % number, last=b"%d" % number)
        await table.refresh(10)
        assert dict(table) == {"key": b"%d" % number, "last": b"%d" % number}
    await put(client, topic, key=None)
    await table.refresh(10)
    assert list(table) == ["last"]


async def test_listeners_hear_of_every_change(client, topic):
    await put(client, topic, a=b"0")
    table = await client.create_table_view(topic)
    seen, changes = [], []
    table.for_each(lambda key, value: seen.append((key, value)))
    assert seen == [("a", b"0")]
    table.listen(lambda key, value: changes.append((key, value)))
    table.for_each_and_listen(lambda key, value: seen.append((key, value)))
    await put(client, topic, a=b"1", b=b"2")
    await put(client, topic, a=None)
    await table.refresh(10)
    assert changes == [("a", b"1"), ("b", b"2"), ("a", None)]
    assert seen == [("a", b"0"), ("a", b"0"), *changes]


async def test_a_listener_that_fails_keeps_nobody_from_reading(client, topic, caplog):
    table = await client.create_table_view(topic)
    heard = []
    table.listen(lambda _key, value: 1 // len(value))
    table.listen(lambda key, _value: heard.append(key))
    await put(client, topic, a=b"0")
    await put(client, topic, a=None, b=b"1")
    await table.refresh(10)
    assert heard == ["a", "a", "b"]
    assert "table_view.listener_failed" in caplog.text


async def test_messages_without_a_key_are_left_out(client, topic, caplog):
    async with client.create_producer(topic) as producer:
        await producer.send_many([b"0", b"1", OutgoingMessage(b"2", key="a")])
    table = await client.create_table_view(topic)
    assert table.items() == [("a", b"2")]
    assert caplog.text.count("table_view.no_key") == 1


async def test_partitions_belong_together_also_later_ones(broker, topic):
    path = topic.replace("://", "/") + "/partitions"
    ask(broker, "PUT", path, 2)
    async with Client(broker.service_url, partitions_refresh_s=0.1) as client:
        await put(client, topic, **{f"k{n}": b"%d" % n for n in range(20)})
        table = await client.create_table_view(topic)
        assert dict(table) == {f"k{n}": b"%d" % n for n in range(20)}
        ask(broker, "POST", path, 5)
        await put(client, topic, **{f"n{n}": b"%d" % n for n in range(40)})
        await until(lambda: len(table) == 60)


async def test_it_goes_on_when_its_topic_moves(broker, client, topic):
    await put(client, topic, a=b"0", b=b"0")
    table = await client.create_table_view(topic)
    changes = []
    table.listen(lambda key, value: changes.append((key, value)))
    ask(broker, "PUT", topic.replace("://", "/") + "/unload")
    await put(client, topic, a=b"1")
    await table.refresh(10)
    assert dict(table) == {"a": b"1", "b": b"0"}
    assert changes == [("a", b"1")]


async def test_a_compacted_topic_is_read_from_what_compaction_left(broker, client, topic):
    for number in range(3):
        await put(client, topic, a=b"%d" % number, gone=b"x", kept=b"%d" % number)
    await put(client, topic, gone=None)
    await compact(broker, topic)
    await put(client, topic, a=b"after")
    table = await client.create_table_view(topic)
    assert dict(table) == {"a": b"after", "kept": b"2"}


@pytest.mark.parametrize("kept", [{}, {"kept": b"0"}], ids=["nothing", "something"])
async def test_what_compaction_removed_at_the_end_is_not_waited_for(broker, client, topic, kept):
    await put(client, topic, **kept, a=b"0")
    await put(client, topic, a=None)
    await compact(broker, topic)
    async with asyncio.timeout(10):
        table = await client.create_table_view(topic)
        await put(client, topic, b=b"1")
        await table.refresh()
    assert dict(table) == {**kept, "b": b"1"}


async def test_a_topic_that_keeps_nothing_has_what_comes_from_now_on(client, topic):
    volatile = topic.replace("persistent", "non-persistent", 1)
    await put(client, volatile, a=b"before")
    table = await client.create_table_view(volatile)
    await put(client, volatile, b=b"0", c=b"1")
    await until(lambda: len(table) == 2)
    await table.refresh(10)
    assert dict(table) == {"b": b"0", "c": b"1"}
    await table.close()
    with pytest.raises(AlreadyClosed):
        await table.refresh()


async def test_when_it_is_closed_it_stays_as_it_was(client, topic, caplog):
    await put(client, topic, a=b"0")
    table = await client.create_table_view(topic)
    waiting = asyncio.ensure_future(table.refresh())
    await table.close()
    await table.close()
    await asyncio.wait([waiting])
    assert waiting.exception() is None or isinstance(waiting.exception(), AlreadyClosed)
    await put(client, topic, a=b"1")
    assert dict(table) == {"a": b"0"}
    with pytest.raises(AlreadyClosed):
        await table.refresh()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_a_client_closes_its_table_views(broker, topic):
    async with Client(broker.service_url) as client:
        table = await client.create_table_view(topic)
    with pytest.raises(AlreadyClosed):
        await table.refresh()


async def test_a_refresh_has_a_time_limit(client, topic):
    table = await client.create_table_view(topic, receiver_queue_size=1)
    table._reader.pause()
    await put(client, topic, a=b"0", b=b"1")
    await put(client, topic, c=b"2")
    with pytest.raises(TimedOut, match="not read to its end"):
        await table.refresh(0.05)


async def test_threads_have_it_too(broker, topic):
    def work():
        with blocking.Client(broker.service_url) as client:
            producer = client.create_producer(topic)
            with client.create_table_view(topic) as table:
                changes = []
                table.for_each_and_listen(lambda key, value: changes.append((key, value)))
                producer.send(b"0", key="a")
                producer.send(b"1", key="b")
                table.refresh(10)
                found = dict(table)
                assert (len(table), "a" in table, table["b"]) == (2, True, b"1")
                return found, changes

    found, changes = await asyncio.to_thread(work)
    assert found == {"a": b"0", "b": b"1"}
    assert changes == [("a", b"0"), ("b", b"1")]
