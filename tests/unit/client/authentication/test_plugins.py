import json

import pytest

from magnetar.client.authentication.basic import AuthenticationBasic
from magnetar.client.authentication.oauth2 import AuthenticationOAuth2
from magnetar.client.authentication.plugins import NAMES, authentication_of
from magnetar.client.authentication.tls import AuthenticationTls
from magnetar.client.authentication.token import AuthenticationToken
from magnetar.errors import InvalidValue

AUTH = "org.apache.pulsar.client.impl.auth."


@pytest.mark.parametrize("plugin", [f"{AUTH}AuthenticationToken", "token"])
@pytest.mark.parametrize("given", ["token:abc", "abc", '{"token": "abc"}', "file:", "file://"])
async def test_tokens(plugin, given, tmp_path):
    if given.startswith("file:"):
        (tmp_path / "token").write_text("abc\n")
        given += str(tmp_path / "token")
    made = authentication_of(plugin, given)
    assert isinstance(made, AuthenticationToken)
    assert await made.data() == b"abc"


@pytest.mark.parametrize(
    "given",
    ['{"userId": "me", "password": "a:b,c"}', "userId:me,password:a:b", "username:me, password:x"],
)
async def test_users(given):
    made = authentication_of(f"{AUTH}AuthenticationBasic", given)
    assert isinstance(made, AuthenticationBasic)
    assert (await made.data()).startswith(b"me:")


def test_certificates():
    made = authentication_of(f"{AUTH}AuthenticationTls", "tlsCertFile:/c.pem,tlsKeyFile:/k.pem")
    assert isinstance(made, AuthenticationTls)
    assert (made.certificate_file, made.key_file) == ("/c.pem", "/k.pem")


@pytest.mark.parametrize("names", [("issuerUrl", "privateKey"), ("issuer_url", "private_key")])
def test_oauth2(names):
    given = dict(zip(names, ("https://login.example", "/k.json"), strict=True))
    given |= {"type": "client_credentials", "audience": "urn:pulsar"}
    made = authentication_of(f"{AUTH}oauth2.AuthenticationOAuth2", json.dumps(given))
    assert isinstance(made, AuthenticationOAuth2)


def test_nobody():
    assert authentication_of(f"{AUTH}AuthenticationDisabled", "") is None
    assert set(NAMES.values()) == {"none", "token", "basic", "tls", "oauth2"}


@pytest.mark.parametrize(
    ("plugin", "given", "says"),
    [
        (f"{AUTH}AuthenticationAthenz", "{}", "AuthenticationAthenz' is not known here"),
        ("tokn", "token:x", "'tokn' is not known here; it may be one of none, token, basic"),
        ("token", "", "authParams is empty"),
        ("token", '{"s3cret": ""}', "have no token"),
        ("basic", "s3cret", "neither JSON nor key:value"),
        ("basic", "{s3cret", "neither JSON nor key:value"),
        ("basic", "userId:me", "authParams of basic have no password"),
        ("tls", "tlsCertFile:/c", "have no tlsKeyFile"),
        ("oauth2", '{"type": "password"}', "only the type client_credentials"),
    ],
)
def test_what_cannot_be_meant_is_refused_without_its_parameters(plugin, given, says):
    with pytest.raises(InvalidValue, match=says) as raised:
        authentication_of(plugin, given)
    assert "s3cret" not in str(raised.value)
