import pytest

ONE = "/admin/v2/clusters/c2"
DATA = {"serviceUrl": "http://c2.example:8080", "brokerServiceUrl": "pulsar://c2.example:6650"}


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
