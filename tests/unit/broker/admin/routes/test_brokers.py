import pytest


@pytest.mark.parametrize("path", ["health", "ready", "health?topicVersion=V1"])
@pytest.mark.parametrize("accept", ["application/json", "*/*", "text/plain"])
async def test_a_broker_says_that_it_is_well(world, path, accept):
    answer = await world.ask("GET", f"/admin/v2/brokers/{path}", Accept=accept)
    assert (answer.status, answer.text) == (200, "ok")


async def test_a_broker_without_its_metadata_is_not_well(world):
    def gone(_):
        raise ConnectionError("the metadata store is gone")

    world.metadata.children = gone
    answer = await world.ask("GET", "/admin/v2/brokers/health")
    assert answer.status == 500
    assert "the metadata store is gone" in answer.reason


@pytest.mark.parametrize("name", ["configuration", "internal-configuration"])
async def test_what_this_broker_does_not_have_is_no_cluster(world, name):
    assert (await world.ask("GET", f"/admin/v2/brokers/{name}")).status == 404


async def test_a_broker_that_is_alone_leads(world):
    assert (await world.ask("GET", "/admin/v2/brokers")).json == ["localhost:8080"]
    assert (await world.ask("GET", "/admin/v2/brokers/any")).json == ["localhost:8080"]
    leader = (await world.ask("GET", "/admin/v2/brokers/leaderBroker")).json
    assert leader == {"brokerId": "localhost:8080", "serviceUrl": "http://localhost:8080"}


async def test_the_version_is_ours(world):
    assert (await world.ask("GET", "/admin/v2/brokers/version")).text == "9.9.9"
