"""The whole is tested in tests/client/test_tls.py; here is what does not show from outside."""

import logging
import ssl

import pytest
from cryptography.hazmat.primitives import serialization as keys
from support.certificates import Authority

from magnetar.client.authentication.tls import AuthenticationTls
from magnetar.client.config import ClientConfig
from magnetar.client.connections.tls import Tls, refuses_certificate
from magnetar.errors import InvalidValue


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


def tls(**settings):
    return Tls(ClientConfig(service_url="pulsar+ssl://h", **settings))


def test_the_safe_way_is_the_default():
    context = tls().context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def test_files_are_read_again_when_they_changed_and_the_last_good_ones_hold(
    authority, tmp_path, caplog
):
    certificate, key = authority.issue("client")
    shown = tls(authentication=AuthenticationTls(certificate, key))
    first = shown.context()
    assert shown.context() is first
    authority.issue("client", ["another.host.than.before"])
    second = shown.context()
    assert second is not first
    (tmp_path / "client.pem").write_text("half a certific")
    with caplog.at_level(logging.WARNING):
        assert shown.context() is second
    assert "client.tls_files_unusable" in caplog.text
    (tmp_path / "client.pem").unlink()
    assert shown.context() is second


def test_an_encrypted_key_asks_nobody_for_its_password(authority, tmp_path):
    certificate, _ = authority.issue("client")
    private = keys.load_pem_private_key((tmp_path / "client-key.pem").read_bytes(), None)
    sealed = tmp_path / "sealed.pem"
    sealed.write_bytes(
        private.private_bytes(
            keys.Encoding.PEM, keys.PrivateFormat.PKCS8, keys.BestAvailableEncryption(b"word")
        )
    )
    with pytest.raises(InvalidValue, match=r"sealed\.pem"):
        tls(tls_certificate_file=certificate, tls_key_file=str(sealed)).context()


def test_a_certificate_that_is_refused_is_known_by_the_alert():
    refused = ssl.SSLError(1, "[SSL] alert")
    refused.reason = "TLSV13_ALERT_CERTIFICATE_REQUIRED"
    assert refuses_certificate(refused)
    assert not refuses_certificate(ssl.SSLError(1, "other"))
    assert not refuses_certificate(ConnectionResetError())
    assert not refuses_certificate(None)
