"""What a name may be is the same over the protocol and over the admin API."""

from urllib.parse import quote

import aiohttp
import pytest
from unit.broker.peer import TOPIC, Peer
from yarl import URL

from magnetar.model.names import NAME_LENGTH_MAX
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker

HOME = "persistent://public/default/"
LONG = "x" * 5_000
BAD = [LONG, "a\0b", "a\nb", "a\x1bb", "a\x7fb", "a\x85b", "a\u202eb"]
BAD_IDS = ["5,000 characters", "NUL", "line feed", "escape", "delete", "next line", "right to left"]
WHY = ("characters, at most 1024 are taken", "control characters are not taken")


@pytest.fixture
async def broker():
    async with LocalBroker() as running:
        yield running


async def ask(broker, method: str, path: str) -> tuple[int, str]:
    """The status, and what the answer says."""
    url = URL(f"{broker.web_url}{path}", encoded=True)
    headers = {"Content-Type": "application/json"}
    async with aiohttp.request(method, url, headers=headers) as response:
        return response.status, await response.text()


def admin(local: str, rest: str = "") -> str:
    return f"/admin/v2/persistent/public/default/{quote(local, safe='')}{rest}"


@pytest.mark.parametrize("name", BAD, ids=BAD_IDS)
async def test_a_topic_of_a_bad_name_is_made_at_neither_door(broker, name):
    peer = await Peer.open(broker.port)
    answer = await peer.ask("producer", topic=HOME + name, producer_id=1, request_id=1)
    assert answer.error.error == pb.InvalidTopicName
    assert any(why in answer.error.message for why in WHY)
    for method, path in [
        ("PUT", admin(name)),
        ("PUT", admin(name, "/subscription/s")),
        ("GET", admin(name, "/stats")),
        ("GET", admin(name, "/partitions?checkAllowAutoCreation=true")),
        ("GET", admin(name).replace("/admin/v2/", "/lookup/v2/topic/")),
    ]:
        status, text = await ask(broker, method, path)
        assert status == 412, (method, path, text)
        assert any(why in text for why in WHY)
    assert not broker.broker.registry.loaded


@pytest.mark.parametrize("name", BAD, ids=BAD_IDS)
async def test_a_subscription_of_a_bad_name_is_made_at_neither_door(name):
    async with LocalBroker() as broker:
        peer = await Peer.open(broker.port)
        await peer.produce()
        for request in (
            {"field": "subscribe", "subscription": name, "subType": 1, "consumer_id": 1},
            {"field": "producer", "initial_subscription_name": name, "producer_id": 2},
        ):
            answer = await peer.ask(topic=TOPIC, request_id=1, **request)
            assert answer.error.error == pb.ProducerBusy  # As for any bad name, in Pulsar too.
            assert any(why in answer.error.message for why in WHY)
        status, text = await ask(broker, "PUT", admin("t", f"/subscription/{quote(name)}"))
        assert status == 412, text
        assert any(why in text for why in WHY)
        (topic,) = broker.broker.registry.loaded.values()
        assert not topic.subscriptions


@pytest.mark.parametrize("length", [-1, 0, 1])
async def test_a_topics_name_may_be_so_long(broker, length):
    peer = await Peer.open(broker.port)
    name = HOME + "t" * (NAME_LENGTH_MAX + length - len(HOME))
    found = (await peer.ask("lookupTopic", topic=name, request_id=1)).lookupTopicResponse
    if length <= 0:
        assert found.response == pb.CommandLookupTopicResponse.Connect
        answer = await peer.ask("producer", topic=name, producer_id=1, request_id=2)
        assert answer.HasField("producer_success")
    else:
        assert (found.error, found.message) == (
            pb.InvalidTopicName,
            f"Invalid topic name: {len(name)} characters, at most 1024 are taken",
        )
        assert NAME_LENGTH_MAX == 1024


@pytest.mark.parametrize("path", ["tenants/{}", "namespaces/public/{}", "clusters/{}"])
async def test_nor_is_anything_else_of_a_bad_name(broker, path):
    status, text = await ask(broker, "PUT", f"/admin/v2/{path.format(LONG)}")
    assert status == 412
    assert f"5000 {WHY[0]}" in text


@pytest.mark.parametrize("over", [0, 1])
async def test_a_name_may_be_so_long_at_both_doors(broker, over):
    """It is the full name that counts, also where a client leaves out the beginning."""
    local = "y" * (NAME_LENGTH_MAX - len(HOME) + over)
    peer = await Peer.open(broker.port)
    for text in (HOME + local, local):
        answer = await peer.ask("partitionMetadata", topic=text, request_id=1)
        refused = "at most 1024" in answer.partitionMetadataResponse.message
        assert refused is bool(over)
    status, text = await ask(broker, "PUT", admin(local))
    assert status == (412 if over else 204), text
    subscription = "s" * (NAME_LENGTH_MAX + over)
    status, text = await ask(broker, "PUT", admin("z", f"/subscription/{subscription}"))
    assert status == (412 if over else 204), text
