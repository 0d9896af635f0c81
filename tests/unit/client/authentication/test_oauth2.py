import base64
import json

import pytest
from aiohttp import web
from support.web import serving

from magnetar.client.authentication.oauth2 import AuthenticationOAuth2
from magnetar.errors import ConnectionLost, InvalidValue, NotAuthenticated

KEY = {"type": "client_credentials", "client_id": "me", "client_secret": "s3cret"}


class Clock:
    """Stands still until it is moved."""

    seconds = 1000.0

    def now(self):
        return self.seconds


class Issuer:
    """An authorization server. ``asked`` are the forms that it got."""

    def __init__(self):
        self.asked = []
        self.answer = (200, {"access_token": "t1", "expires_in": 100})
        self.url = ""

    async def serve(self, request):
        if request.path == "/.well-known/openid-configuration":
            return web.json_response({"token_endpoint": f"{self.url}/oauth/token"})
        assert (request.method, request.path) == ("POST", "/oauth/token")
        self.asked.append(dict(await request.post()))
        status, body = self.answer
        return web.json_response(body, status=status)


@pytest.fixture
async def issuer():
    issuer = Issuer()
    async with serving(issuer.serve) as address:
        issuer.url = f"http://{address}"
        yield issuer


@pytest.fixture
def key_file(tmp_path):
    file = tmp_path / "key.json"
    file.write_text(json.dumps(KEY))
    return str(file)


async def test_a_token_is_asked_for_and_kept_until_it_is_nearly_over(issuer, key_file):
    clock = Clock()
    authentication = AuthenticationOAuth2(
        f"{issuer.url}/", key_file, audience="urn:pulsar", scope="a b", clock=clock
    )
    assert authentication.method == "token"
    assert [await authentication.data() for _ in range(2)] == [b"t1"] * 2
    assert issuer.asked == [
        {
            "grant_type": "client_credentials",
            "client_id": "me",
            "client_secret": "s3cret",
            "audience": "urn:pulsar",
            "scope": "a b",
        }
    ]
    issuer.answer = (200, {"access_token": "t2", "expires_in": "100"})
    clock.seconds += 89
    assert await authentication.data() == b"t1"
    clock.seconds += 1
    assert await authentication.data() == b"t2"


async def test_a_token_that_cannot_be_renewed_yet_is_used_to_its_end(issuer, key_file):
    clock = Clock()
    authentication = AuthenticationOAuth2(issuer.url, key_file, clock=clock)
    await authentication.data()
    issuer.answer = (503, {"error": "away"})
    clock.seconds += 95
    assert await authentication.data() == b"t1"
    clock.seconds += 5
    with pytest.raises(ConnectionLost, match=r"503.*away"):
        await authentication.data()


@pytest.mark.parametrize("form", ["{path}", "file:{path}", "file://{path}", "data:"])
async def test_the_key_may_be_a_file_or_in_place(issuer, key_file, form):
    key = form.format(path=key_file)
    if form == "data:":
        content = base64.b64encode(json.dumps(KEY).encode()).decode()
        key = f"data:application/json;base64,{content}"
    authentication = AuthenticationOAuth2(issuer.url, key)
    assert await authentication.data() == b"t1"
    assert "s3cret" not in repr(authentication)
    assert key not in repr(authentication)


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        ((401, {"error": "invalid_client"}), NotAuthenticated, "status 401, invalid_client"),
        ((400, ["?"]), NotAuthenticated, "status 400"),
        ((500, {}), ConnectionLost, "status 500"),
        ((200, {"token": "x"}), NotAuthenticated, "without an access_token"),
    ],
)
async def test_a_refusal_is_told_in_the_servers_words(issuer, key_file, answer, error, says):
    issuer.answer = answer
    with pytest.raises(error, match=says) as raised:
        await AuthenticationOAuth2(issuer.url, key_file).data()
    assert "s3cret" not in str(raised.value)


async def test_a_server_that_is_not_there_is_named(key_file, unused_tcp_port):
    url = f"http://127.0.0.1:{unused_tcp_port}"
    with pytest.raises(ConnectionLost, match=f"no token from {url}"):
        await AuthenticationOAuth2(url, key_file).data()


async def test_a_key_that_is_none_is_told_without_its_content(issuer, tmp_path):
    file = tmp_path / "key.json"
    for content in ("s3cret", '"s3cret"', '{"client_secret": "s3cret"}'):
        file.write_text(content)
        with pytest.raises(NotAuthenticated, match="client_id and client_secret") as raised:
            await AuthenticationOAuth2(issuer.url, str(file)).data()
        assert "s3cret" not in str(raised.value)
    file.unlink()
    with pytest.raises(FileNotFoundError):
        await AuthenticationOAuth2(issuer.url, str(file)).data()


@pytest.mark.parametrize("url", ["issuer", "ftp://h", "https://me:s3cret@h"])
def test_where_tokens_are_is_a_web_address(url):
    with pytest.raises(InvalidValue, match="issuer_url") as raised:
        AuthenticationOAuth2(url, "key.json")
    assert "s3cret" not in str(raised.value)
