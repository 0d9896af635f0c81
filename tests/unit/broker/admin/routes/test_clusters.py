import pytest

ONE = "/admin/v2/clusters/c2"
DATA = {"serviceUrl": "http://c2.example:8080", "brokerServiceUrl": "pulsar://c2.example:6650"}
DOMAINS = "/admin/v2/clusters/standalone/failureDomains"
STANDALONE = "/admin/v2/clusters/standalone"


async def test_a_cluster_comes_is_changed_and_goes(world):
    assert (await world.ask("GET", "/admin/v2/clusters")).json == ["standalone"]
    assert (await world.ask("PUT", ONE, DATA)).status == 200
    assert (await world.ask("GET", ONE)).json | DATA == (await world.ask("GET", ONE)).json
    moved = {**DATA, "serviceUrl": "http://new.example:8080", "peerClusterNames": ["standalone"]}
    assert (await world.ask("POST", ONE, moved)).status == 200
    shown = (await world.ask("GET", ONE)).json
    assert shown["serviceUrl"] == "http://new.example:8080"
    assert shown["peerClusterNames"] == ["standalone"]
    assert (await world.ask("DELETE", ONE)).status == 204
    assert (await world.ask("GET", ONE)).reason == "Cluster does not exist"


@pytest.mark.parametrize(
    ("field", "url", "words"),
    [
        ("serviceUrl", "pulsar://x", "Illegal service url"),
        ("serviceUrlTls", "http://x", "Illegal service tls url"),
        ("brokerServiceUrl", "http://x", "Illegal broker service url"),
        ("brokerServiceUrlTls", "pulsar://x", "Illegal broker service tls url"),
    ],
)
async def test_a_url_of_the_wrong_scheme_is_refused(world, field, url, words):
    answer = await world.ask("PUT", ONE, {field: url})
    assert answer.status == 400
    assert answer.reason.startswith(words)
    assert (await world.ask("GET", ONE)).status == 404


@pytest.mark.parametrize(
    "body", [{"serviceUrl": 1}, {"brokerClientTlsEnabled": "yes"}, {"peerClusterNames": "x"}]
)
async def test_fields_of_the_wrong_type_are_refused(world, body):
    answer = await world.ask("PUT", ONE, body)
    assert (answer.status, answer.content_type) == (400, "application/json")


async def test_nothing_is_said_of_what_a_refusal_leaves_as_it_was(world):
    await world.ask("PUT", ONE, DATA)
    assert (await world.ask("POST", ONE, {"serviceUrl": "ftp://x"})).status == 400
    assert (await world.ask("GET", ONE)).json["serviceUrl"] == DATA["serviceUrl"]


async def test_a_domain_changes_its_brokers(world):
    for brokers in (["a:1", "b:1"], ["b:1", "b:1"], []):
        kept = await world.ask("POST", f"{DOMAINS}/d", {"brokers": brokers})
        assert (kept.status, kept.headers["X-Magnetar-Without-Effect"]) == (204, "failureDomains")
        assert (await world.ask("GET", f"{DOMAINS}/d")).json == {"brokers": sorted(set(brokers))}
    assert (await world.ask("POST", f"{DOMAINS}/d", {"brokers": "a"})).status == 400
    elsewhere = DOMAINS.replace("standalone", "nope")
    assert (await world.ask("POST", f"{elsewhere}/d", {"brokers": []})).status == 412


async def test_a_cluster_that_has_moved_is_kept_and_named_as_without_effect(world):
    missing = await world.ask("POST", "/admin/v2/clusters/nope/migrate?migrated=true", {})
    assert (missing.status, missing.reason) == (404, "Cluster does not exist")
    kept = await world.ask(
        "POST", f"{STANDALONE}/migrate?migrated=true", {"serviceUrl": "http://b:8080"}
    )
    assert (kept.status, kept.headers["X-Magnetar-Without-Effect"]) == (200, "migrate")
    back = await world.ask("POST", f"{STANDALONE}/migrate?migrated=false", {})
    assert "X-Magnetar-Without-Effect" not in back.headers
    shown = (await world.ask("GET", f"{STANDALONE}/migrate")).json
    assert shown == {"migrated": False, "migratedClusterUrl": {"empty": True}}
    assert (await world.ask("POST", f"{STANDALONE}/migrate", {"serviceUrl": "b"})).status == 400


async def test_what_is_no_list_of_clusters_is_refused(world):
    assert (await world.ask("POST", f"{STANDALONE}/peers", {})).status == 400
    missing = await world.ask("POST", "/admin/v2/clusters/nope/peers", [])
    assert missing.reason == "Cluster does not exist"
