"""Every way to say who a client is, to a broker that checks it over TLS."""

import asyncio
import json
import logging

import pytest
from aiohttp import web
from support.certificates import Authority
from support.security import PASSWORD, USER
from support.web import serving

from magnetar import (
    AuthenticationBasic,
    AuthenticationOAuth2,
    AuthenticationTls,
    AuthenticationToken,
    Client,
)
from magnetar.errors import NotAuthenticated, Unreachable


async def exchange(client, topic):
    consumer = await client.subscribe(topic, "s")
    await (await client.create_producer(topic)).send(b"signed")
    assert (await consumer.receive(20)).data == b"signed"


@pytest.mark.parametrize("over", ["url", "web_url"])
@pytest.mark.parametrize("way", ["token", "basic", "tls"])
async def test_who_shows_the_right_thing_is_let_in(security, topic, way, over):
    shown = {
        "token": AuthenticationToken(security.token()),
        "basic": AuthenticationBasic(USER, PASSWORD),
        "tls": AuthenticationTls(*security.authority.issue("orders", [])),
    }[way]
    async with Client(getattr(security, over), authentication=shown, **security.trust) as client:
        await exchange(client, topic)


@pytest.mark.parametrize("over", ["url", "web_url"])
@pytest.mark.parametrize("way", ["token", "basic"])
async def test_who_shows_the_wrong_thing_is_told_the_method_at_once(security, topic, way, over):
    shown = {
        "token": AuthenticationToken(security.token() + "wrong"),
        "basic": AuthenticationBasic(USER, "wrong-password"),
    }[way]
    async with Client(getattr(security, over), authentication=shown, **security.trust) as client:
        with pytest.raises(NotAuthenticated, match=f"method '{way}'") as told:
            await client.create_producer(topic)
        assert "wrong" not in str(told.value)


async def test_a_certificate_of_nobody_we_know_is_refused(security, topic, tmp_path):
    shown = AuthenticationTls(*Authority(tmp_path).issue("orders", []))
    async with Client(security.url, authentication=shown, **security.trust) as client:
        # Pulsar says "internal error", where others say that they do not know the authority.
        with pytest.raises((NotAuthenticated, Unreachable), match=r"orders\.pem|certificate"):
            await client.create_producer(topic)


async def test_a_token_that_ends_is_renewed_on_the_open_connection(security, topic, caplog):
    asked = []

    def token():
        asked.append(security.token(life_s=2))
        return asked[-1]

    with caplog.at_level(logging.INFO, "magnetar"):
        async with Client(
            security.url, authentication=AuthenticationToken(token), **security.trust
        ) as client:
            producer = await client.create_producer(topic)
            opened = len(asked)
            async with asyncio.timeout(20):
                while len(asked) < opened + 2:  # The broker looks every second.
                    await producer.send(b"still here")
                    await asyncio.sleep(0.1)
    assert "connection.lost" not in caplog.text
    assert not any(each in caplog.text for each in asked)


async def test_tokens_come_from_an_authorization_server(security, topic, tmp_path):
    key = tmp_path / "key.json"
    key.write_text(json.dumps({"client_id": "me", "client_secret": "s3cret"}))
    asked = []

    async def issue(request):
        if request.method == "GET":
            return web.json_response({"token_endpoint": f"http://{request.host}/token"})
        asked.append(await request.post())
        return web.json_response({"access_token": security.token(), "expires_in": 60})

    async with serving(issue) as issuer:
        login = AuthenticationOAuth2(f"http://{issuer}", str(key), audience="urn:pulsar")
        async with Client(security.url, authentication=login, **security.trust) as client:
            await exchange(client, topic)
    assert [form["client_secret"] for form in asked] == ["s3cret"]
