import json

import aiohttp
import pytest

from magnetar import Client
from magnetar.testing.local_broker import LocalBroker

ROOT = "/admin/v2/magnetar"


@pytest.fixture
async def broker():
    async with LocalBroker() as broker:
        yield broker


@pytest.fixture
async def http():
    async with aiohttp.ClientSession() as session:
        yield session


async def event(response):
    """The next event: its name, and what it says."""
    name = (await response.content.readuntil(b"\n")).decode().strip().removeprefix("event: ")
    data = (await response.content.readuntil(b"\n\n")).decode().strip().removeprefix("data: ")
    return name, json.loads(data)


async def test_the_overview_of_a_broker_that_is_used(broker, http):
    async with Client(broker.service_url) as client:
        await client.create_producer("t")
        async with http.get(f"{broker.web_url}{ROOT}/overview") as response:
            shown = await response.json()
    assert shown["cluster"] == "standalone"
    assert shown["counts"]["producers"] == shown["counts"]["topics"] == 1
    assert shown["connections"] == 1
    assert shown["fsync"] is None, "this broker stores in memory"


async def test_what_happens_is_told(broker, http):
    url = f"{broker.web_url}{ROOT}/events?topic=persistent://public/default/t"
    async with http.get(url) as response:
        assert response.status == 404
    async with Client(broker.service_url) as client:
        producer = await client.create_producer("t")
        async with http.get(url) as response:
            assert response.headers["Content-Type"].startswith("text/event-stream")
            name, overview = await event(response)
            assert (name, overview["counts"]["topics"]) == ("overview", 1)
            await event(response)
            for _ in range(5):
                await producer.send(b"x")
            name, overview = await event(response)
            assert overview["rates"]["msgRateIn"] > 0
            name, topic = await event(response)
            assert (name, topic["topic"]) == ("topic", "persistent://public/default/t")
            assert topic["stats"]["msgInCounter"] == 5
            assert topic["stats"]["msgRateIn"] > 0


@pytest.mark.parametrize(
    ("query", "status"), [("interval=0", 412), ("interval=61", 412), ("topic=a/b", 412)]
)
async def test_what_cannot_be_told_is_refused(broker, http, query, status):
    async with http.get(f"{broker.web_url}{ROOT}/events?{query}") as response:
        assert response.status == status
        assert (await response.json())["reason"]


async def test_a_broker_that_stops_ends_its_streams(http):
    async with LocalBroker() as broker:
        response = await http.get(f"{broker.web_url}{ROOT}/events")
        await event(response)
    assert await response.content.read() == b""
