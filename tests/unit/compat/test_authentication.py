"""Credentials reach our client's classes, and what is wrong with them is said."""

import asyncio

import pytest

from magnetar import compat


def proof(authentication):
    return authentication.auth.method, asyncio.run(authentication.auth.data())


def test_a_token_is_text_or_a_function():
    assert proof(compat.AuthenticationToken("secret")) == ("token", b"secret")
    assert proof(compat.AuthenticationToken(lambda: "fresh")) == ("token", b"fresh")
    with pytest.raises(ValueError, match="token"):
        compat.AuthenticationToken(5)


def test_basic_takes_a_name_and_password_or_json():
    assert proof(compat.AuthenticationBasic("me", "pass")) == ("basic", b"me:pass")
    assert proof(compat.AuthenticationBasic("me", "pass", "oms3.0"))[0] == "oms3.0"
    text = '{"username": "me", "password": "pass", "method": "other"}'
    assert proof(compat.AuthenticationBasic(auth_params_string=text)) == ("other", b"me:pass")
    with pytest.raises(ValueError, match="password"):
        compat.AuthenticationBasic("me")
    with pytest.raises(RuntimeError, match="No username provided"):
        compat.AuthenticationBasic(auth_params_string="{}")
    with pytest.raises(ValueError, match="no JSON object") as refused:
        compat.AuthenticationBasic(auth_params_string="secret")
    assert "secret" not in str(refused.value)


def test_a_certificate_has_two_files():
    shown = compat.AuthenticationTLS("/cert", "/key").auth
    assert (shown.method, shown.certificate_file, shown.key_file) == ("tls", "/cert", "/key")
    with pytest.raises(ValueError, match="private_key_path"):
        compat.AuthenticationTLS("/cert", None)


def test_athenz_is_refused_by_name():
    with pytest.raises(compat.OperationNotSupported, match="Athenz"):
        compat.AuthenticationAthenz("{}")


@pytest.mark.parametrize("prefix", ["", "org.apache.pulsar.client.impl.auth.Authentication"])
def test_plugins_have_two_names(prefix, tmp_path):
    def named(name, params):
        return compat.Authentication(
            (prefix + name) if not prefix else prefix + name.title(), params
        )

    (tmp_path / "token").write_text("kept")
    assert proof(named("token", "token:secret")) == ("token", b"secret")
    assert proof(named("token", f"file:{tmp_path}/token")) == ("token", b"kept")
    assert proof(named("token", "secret")) == ("token", b"secret")
    assert proof(named("basic", '{"username": "me", "password": "p"}')) == ("basic", b"me:p")
    tls = named("tls", "tlsCertFile:/cert,tlsKeyFile:/key").auth
    assert (tls.certificate_file, tls.key_file) == ("/cert", "/key")
    same = named("tls", '{"tlsCertFile": "/cert", "tlsKeyFile": "/key"}').auth
    assert (same.certificate_file, same.key_file) == ("/cert", "/key")


def test_a_library_cannot_be_loaded():
    with pytest.raises(compat.OperationNotSupported, match=r"my\.so"):
        compat.Authentication("/path/my.so", "")
