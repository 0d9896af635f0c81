import aiohttp
import pytest
from support.faults import FaultyFiles

from magnetar.testing.local_broker import LocalBroker

ALL = "/admin/v2/brokers/configuration"


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


async def test_where_the_broker_stores_is_said_by_the_names_of_pulsars_stores(world):
    found = (await world.ask("GET", "/admin/v2/brokers/internal-configuration")).json
    assert found["metadataStoreUrl"] == found["zookeeperServers"] == "memory:local"


async def test_the_bundles_that_were_looked_up_are_owned(world):
    path = "/admin/v2/brokers/standalone/localhost:8080/ownedNamespaces"
    assert (await world.ask("GET", path)).json == {}
    await world.ask("GET", "/lookup/v2/topic/persistent/public/default/t")
    [(bundle, owned)] = (await world.ask("GET", path)).json.items()
    assert (bundle[:15], owned["is_active"]) == ("public/default/", True)


async def test_a_broker_is_not_shut_down_over_http(world):
    refused = await world.ask("POST", "/admin/v2/brokers/shutdown")
    assert (refused.status, "SIGTERM" in refused.reason) == (405, True)


async def test_a_broker_that_is_alone_leads(world):
    assert (await world.ask("GET", "/admin/v2/brokers")).json == ["localhost:8080"]
    assert (await world.ask("GET", "/admin/v2/brokers/any")).json == ["localhost:8080"]
    leader = (await world.ask("GET", "/admin/v2/brokers/leaderBroker")).json
    assert leader == {"brokerId": "localhost:8080", "serviceUrl": "http://localhost:8080"}


async def test_the_version_is_ours(world):
    assert (await world.ask("GET", "/admin/v2/brokers/version")).text == "9.9.9"


async def test_a_broker_whose_disk_fails_is_not_well_until_it_is_mended(tmp_path):
    files = FaultyFiles()
    status_file = tmp_path / "status"
    settings = {"statusFilePath": str(status_file)}
    async with (
        LocalBroker(tmp_path / "data", files=files, settings=settings) as broker,
        aiohttp.ClientSession() as http,
    ):

        async def ask(path):
            async with http.get(f"{broker.web_url}{path}") as answer:
                return answer.status, await answer.text()

        health, ready = "/admin/v2/brokers/health", "/admin/v2/brokers/ready"
        assert await ask(health) == (200, "ok")
        files.fail_syncs(times=1)
        status, text = await ask(health)
        assert status == 503
        assert "The broker is not well" in text
        status, text = await ask(ready)
        assert status == 503
        assert "The log takes nothing" in text
        assert 'magnetar_log_writable{cluster="standalone"} 0.0' in (await ask("/metrics/"))[1]
        files.repair()
        assert await ask(health) == (200, "ok")
        assert await ask(ready) == (200, "ok")
        assert (await ask("/status.html"))[0] == 404
        status_file.touch()
        assert await ask("/status.html") == (200, "OK")


async def test_a_change_has_an_effect_or_the_answer_says_that_it_has_none(world):
    effective = await world.ask(
        "POST", f"{ALL}/backlogQuotaDefaultRetentionPolicy/producer_exception"
    )
    assert (effective.status, effective.headers.get("X-Magnetar-Without-Effect")) == (200, None)
    idle = await world.ask("POST", f"{ALL}/loadManagerClassName/a%2Fb")
    assert (idle.status, idle.headers["X-Magnetar-Without-Effect"]) == (200, "loadManagerClassName")
    assert (await world.ask("GET", f"{ALL}/values")).json == {
        "backlogQuotaDefaultRetentionPolicy": "producer_exception",
        "loadManagerClassName": "a/b",
    }


async def test_what_can_be_changed_is_listed(world):
    names = (await world.ask("GET", ALL)).json
    assert {"maxProducersPerTopic", "forceDeleteNamespaceAllowed"} <= set(names)
    assert not {"webServicePort", "superUserRoles", "dispatchThrottlingRateInMsg"} & set(names)
    assert (await world.ask("POST", f"{ALL}/maxProducersPerTopic/x")).status == 412
