import pytest
from unit.broker.admin.world import open_world

from magnetar.broker.settings.policies import PolicySettings
from magnetar.model.names import TopicName

LOOKUP = "/lookup/v2/topic/persistent/public/default"


@pytest.fixture
async def closed_world():
    """Where clients may not make topics."""
    async with open_world(PolicySettings(auto_topics=False)) as opened:
        yield opened


async def test_both_spellings_of_the_keys_for_tls_are_there(world):
    assert (await world.ask("GET", f"{LOOKUP}/x")).json == {
        "brokerUrl": "pulsar://localhost:6650",
        "httpUrl": "http://localhost:8080",
        "nativeUrl": "pulsar://localhost:6650",
        "brokerUrlSsl": "",
        "brokerUrlTls": "",
        "httpUrlTls": "",
    }


async def test_a_topic_that_was_looked_up_is_served_here(world):
    bundle = await world.resources.bundle(TopicName.parse("persistent://public/default/x"))
    assert not world.admin.topics.owners.ownership.owns(bundle)
    await world.ask("GET", f"{LOOKUP}/x")
    assert world.admin.topics.owners.ownership.owns(bundle)


async def test_looking_up_makes_no_topic(world):
    await world.ask("GET", f"{LOOKUP}/x")
    assert not await world.resources.topic_exists(TopicName.parse("persistent://public/default/x"))


async def test_a_missing_topic_is_not_found_where_clients_make_none(closed_world):
    answer = await closed_world.ask("GET", f"{LOOKUP}/x")
    assert answer.status == 404
    assert answer.reason == "Topic not found persistent://public/default/x"


@pytest.mark.parametrize(
    ("local", "status"),
    [
        ("plain", 200),
        ("dir%2Fx", 200),
        ("parts", 200),
        ("parts-partition-1", 200),
        ("parts-partition-2", 404),
        ("other-partition-0", 404),
    ],
)
async def test_what_exists_is_found_where_clients_make_no_topics(closed_world, local, status):
    await closed_world.topic("persistent://public/default/plain")
    await closed_world.topic("persistent://public/default/dir/x")
    topic = TopicName.parse("persistent://public/default/parts")
    await closed_world.resources.create_partitioned_topic(topic, 2)
    assert (await closed_world.ask("GET", f"{LOOKUP}/{local}")).status == status


@pytest.mark.parametrize("local", ["x", "x/bundle"])
async def test_a_domain_nobody_knows_is_another_path(world, local):
    answer = await world.ask("GET", f"/lookup/v2/topic/foo/public/default/{local}")
    assert answer.status == 404


async def test_a_bundle_is_plain_text(world):
    answer = await world.ask("GET", f"{LOOKUP}/PkPaboE/bundle")
    assert (answer.text, answer.content_type) == ("0x00000000_0x40000000", "application/json")
