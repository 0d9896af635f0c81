"""What a web server may answer; that our broker and Pulsar's answer so is tests/client's."""

import base64

import pytest
from aiohttp import web
from support.web import serving
from unit.client.conftest import quick_backoff

from magnetar.client.authentication.authentication import Authentication
from magnetar.client.authentication.basic import AuthenticationBasic
from magnetar.client.authentication.token import AuthenticationToken
from magnetar.client.config import ClientConfig
from magnetar.client.connections.cluster import Cluster
from magnetar.client.connections.http_lookup import HttpLookup
from magnetar.errors import (
    ConnectionLost,
    InvalidSchema,
    NotAllowed,
    NotAuthenticated,
    NotAuthorized,
    NotReady,
    SchemaNotFound,
    TopicNotFound,
)
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.model.subscriptions import RegexSubscriptionMode

TOPIC = "persistent://public/default/dir/a b"


class Own:
    method = "mine"

    async def data(self):
        return b"x"


class Web:
    """Answers what it is told to, and keeps what it was asked."""

    def __init__(self):
        self.asked = []
        self.answers = []
        self.address = ""

    async def serve(self, request):
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, str):
            return web.Response(status=307, headers={"Location": answer})
        status, body = answer
        return web.json_response(body, status=status)


@pytest.fixture
async def server():
    server = Web()
    async with serving(server.serve) as server.address:
        yield server


@pytest.fixture
def lookup(server):
    def make(**settings):
        config = ClientConfig(
            service_url=f"http://{server.address}", lookup_redirects_max=2, **settings
        )
        return HttpLookup(config, Cluster(config, quick_backoff, lambda: 0.0))

    return make


async def test_an_owner_is_asked_for_with_what_the_path_needs(server, lookup):
    server.answers = [(200, {"brokerUrl": "pulsar://h:1", "brokerUrlTls": ""})]
    assert await lookup(listener_name="out").owner(server.address, TOPIC) == "pulsar://h:1"
    [asked] = server.asked
    assert (
        asked.raw_path == "/lookup/v2/topic/persistent/public/default/dir%2Fa%20b?listenerName=out"
    )
    server.answers = [(200, {})]
    assert await lookup().owner(server.address, TOPIC) == ""


async def test_partitions_and_topics(server, lookup):
    server.answers = [(200, {"partitions": 4})]
    assert await lookup().partitions(server.address, TOPIC, auto_create=False) == 4
    assert server.asked[0].query_string == "checkAllowAutoCreation=false"
    names = [f"topic-{number}" for number in range(100_000)]
    server.answers = [(200, names)]
    mode = RegexSubscriptionMode.ALL_TOPICS
    assert await lookup().topics(server.address, "public/default", mode) == names
    assert server.asked[1].raw_path == "/admin/v2/namespaces/public/default/topics?mode=ALL"


async def test_schemas(server, lookup):
    server.answers = [(200, {"type": "JSON", "data": "{}", "properties": {"a": "b"}})]
    found = await lookup().schema(server.address, TOPIC, (3).to_bytes(8, "big"))
    assert found == SchemaInfo(SchemaType.JSON, b"{}", {"a": "b"})
    await lookup().schema(server.address, TOPIC, None)
    path = "/admin/v2/schemas/public/default/dir%2Fa%20b/schema"
    assert [asked.raw_path for asked in server.asked] == [f"{path}/3", path]
    for answer, error in (
        ((404, {"reason": "Schema not found"}), SchemaNotFound),
        ((200, {"type": "NEWER"}), InvalidSchema),
        ((200, {"type": "KEY_VALUE", "data": "{}"}), NotAllowed),
    ):
        server.answers = [answer]
        with pytest.raises(error):
            await lookup().schema(server.address, TOPIC, None)


async def test_redirects_are_followed_with_the_credentials_but_not_out_of_tls(server, lookup):
    asks = lookup(authentication=AuthenticationToken("t"))
    server.answers = [f"http://{server.address}/there?authoritative=true", (200, {"partitions": 1})]
    assert await asks.partitions(server.address, TOPIC, auto_create=True) == 1
    assert server.asked[1].raw_path == "/there?authoritative=true"
    assert [one.headers["Authorization"] for one in server.asked] == ["Bearer t"] * 2
    server.answers = ["/round"]
    with pytest.raises(NotReady, match="307"):
        await asks.partitions(server.address, TOPIC, auto_create=True)
    server.answers = ["https://elsewhere/"]
    with pytest.raises(NotAllowed, match="elsewhere"):
        await asks.partitions(server.address, TOPIC, auto_create=True)


@pytest.mark.parametrize(
    ("authentication", "shown"),
    [
        (None, (None, None)),
        (AuthenticationToken("abc"), ("token", "Bearer abc")),
        (
            AuthenticationBasic("me", "pw"),
            ("basic", f"Basic {base64.b64encode(b'me:pw').decode()}"),
        ),
    ],
)
async def test_credentials_are_shown_in_headers(
    server, lookup, authentication: Authentication, shown
):
    server.answers = [(200, {"partitions": 0})]
    asks = lookup(authentication=authentication)
    await asks.partitions(server.address, TOPIC, auto_create=True)
    headers = server.asked[0].headers
    assert (headers.get("X-Pulsar-Auth-Method-Name"), headers.get("Authorization")) == shown


async def test_a_method_that_http_does_not_know_is_refused(server, lookup):
    with pytest.raises(NotAllowed, match="'mine' has no form in HTTP"):
        await lookup(authentication=Own()).owner(server.address, TOPIC)


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        ((404, {"reason": "Namespace not found"}), TopicNotFound, "Namespace not found"),
        ((403, {"reason": "no"}), NotAuthorized, "no"),
        ((503, {"reason": "starting"}), NotReady, "starting"),
        ((412, {"reason": "bad name"}), NotAllowed, "bad name"),
        ((500, "x"), NotReady, "status 500"),
    ],
)
async def test_a_refusal_is_the_error_it_stands_for(server, lookup, answer, error, says):
    server.answers = [answer]
    with pytest.raises(error, match=says):
        await lookup().owner(server.address, TOPIC)


async def test_refused_credentials_name_the_method(server, lookup):
    server.answers = [(401, {"reason": "Authentication required"})]
    with pytest.raises(
        NotAuthenticated, match=f"{server.address} refused .*method 'token'"
    ) as told:
        await lookup(authentication=AuthenticationToken("s3cret")).owner(server.address, TOPIC)
    assert "s3cret" not in str(told.value)


async def test_a_server_that_is_not_there_is_named(lookup, unused_tcp_port):
    absent = f"127.0.0.1:{unused_tcp_port}"
    with pytest.raises(ConnectionLost, match=f"cannot ask {absent} over http: connection refused"):
        await lookup().owner(absent, TOPIC)
