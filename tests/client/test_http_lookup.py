"""Clients whose service URL is that of the web service."""

import pytest
from support.admin import ask
from support.draining import data, drained

from magnetar import Client
from magnetar.errors import TopicNotFound, Unreachable


async def test_a_client_may_look_up_over_http(broker, topic):
    ask(broker, "PUT", topic.replace("://", "/") + "/partitions", 3)
    async with Client(broker.web_url) as client:
        assert await client.partitions(topic) == 3
        consumer = await client.subscribe([topic, f"{topic}-other"], "s")
        for name in (topic, f"{topic}-other"):
            await (await client.create_producer(name)).send_many([b"a", b"b"])
        assert sorted(data(await drained(consumer, 4))) == [b"a", b"a", b"b", b"b"]
        assert f"{topic}-other" in await client.topics("public/default")
        with pytest.raises(TopicNotFound):
            await client.partitions(f"{topic}-missing")
        with pytest.raises(TopicNotFound, match="Namespace not found"):
            await client.create_producer("persistent://nobody/nowhere/t")


@pytest.mark.parametrize("web", [True, False])
async def test_the_two_ports_mixed_up_is_told_at_once(broker, topic, web):
    wrong = (
        broker.service_url.replace("pulsar://", "http://")
        if web
        else broker.web_url.replace("http://", "pulsar://")
    )
    async with Client(wrong) as client:
        reason = "cannot ask .* over http" if web else "it speaks HTTP"
        with pytest.raises(Unreachable, match=reason):
            await client.create_producer(topic)
