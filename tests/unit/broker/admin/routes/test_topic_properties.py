import pytest

from magnetar.broker.topics.publishing.producer_access import TOPIC_EPOCH

ALL = "/admin/v2/persistent/public/default"
PLAIN, PARTS = f"{ALL}/x/properties", f"{ALL}/p/properties"


@pytest.fixture(params=[PLAIN, PARTS])
async def path(world, request):
    await world.ask("PUT", f"{ALL}/x")
    await world.ask("PUT", f"{ALL}/p/partitions", 2)
    return request.param


async def test_they_are_set_one_by_one_and_removed(world, path):
    assert (await world.ask("GET", path)).json == {}
    assert (await world.ask("PUT", path, {"a": "1", "b": 2})).status == 204
    assert (await world.ask("PUT", path, {"b": "3", "c": "4"})).status == 204
    assert (await world.ask("GET", path)).json == {"a": "1", "b": "3", "c": "4"}
    assert (await world.ask("DELETE", f"{path}?key=a")).status == 204
    assert (await world.ask("DELETE", f"{path}?key=nobody")).status == 204
    assert (await world.ask("PUT", path)).status == 204
    assert (await world.ask("GET", path)).json == {"b": "3", "c": "4"}


async def test_which_one_is_to_be_removed_must_be_said(world, path):
    refused = await world.ask("DELETE", path)
    assert (refused.status, "?key=" in refused.reason) == (412, True)


@pytest.mark.parametrize("body", ["x", ["x"], {"a": {}}])
async def test_they_are_an_object_of_strings(world, path, body):
    assert (await world.ask("PUT", path, body)).status == 400


async def test_they_come_with_a_topic_and_outlive_its_unloading(world):
    await world.ask("PUT", f"{ALL}/x", {"owner": "me"})
    await world.ask("PUT", f"{ALL}/x/unload")
    assert (await world.ask("GET", PLAIN)).json == {"owner": "me"}


async def test_those_of_the_broker_are_neither_shown_nor_changed(world):
    await world.ask("PUT", f"{ALL}/x", {"owner": "me"})
    topic = await world.topic("persistent://public/default/x")
    await topic.ledger.change_properties({TOPIC_EPOCH: "4"})
    assert (await world.ask("GET", PLAIN)).json == {"owner": "me"}
    assert (await world.ask("PUT", PLAIN, {TOPIC_EPOCH: "9"})).status == 405
    assert (await world.ask("DELETE", f"{PLAIN}?key={TOPIC_EPOCH}")).status == 405
    assert topic.ledger.properties[TOPIC_EPOCH] == "4"


async def test_a_topic_that_is_not_there_has_none(world):
    for method, path in (
        ("GET", f"{ALL}/no/properties"),
        ("PUT", f"{ALL}/no/properties"),
        ("DELETE", f"{ALL}/no/properties?key=a"),
    ):
        assert (await world.ask(method, path)).status == 404
