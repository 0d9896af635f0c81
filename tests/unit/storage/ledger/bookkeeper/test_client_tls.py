"""The files of TLS with bookies; what bookies say is in ``tests/contract/test_bookie_tls.py``."""

import os
import ssl
from pathlib import Path

import pytest
from support.certificates import Authority

from magnetar.errors import InvalidValue
from magnetar.storage.ledger.bookkeeper.client_tls import ClientTls, TlsSettings, trouble


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


def settings(authority, certificate=(None, None), **others):
    shown, key = (each and Path(each) for each in certificate)
    return TlsSettings(trust=Path(authority.file), certificate=shown, key=key, **others)


def test_names_are_checked_unless_that_is_switched_off(authority):
    assert ClientTls(settings(authority)).context().check_hostname
    context = ClientTls(settings(authority, verify_hostname=False)).context()
    assert not context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED


def test_files_that_were_renewed_are_for_the_next_connection(authority):
    shown = authority.issue("broker")
    tls = ClientTls(settings(authority, shown))
    before = tls.context()
    assert tls.context() is before
    authority.issue("broker")
    os.utime(shown[0], ns=(1, 1))
    renewed = tls.context()
    assert renewed is not before
    Path(shown[1]).write_text("no key")
    assert tls.context() is renewed  # The last ones hold.
    authority.issue("broker")
    os.utime(shown[0], ns=(2, 2))
    assert tls.context() is not renewed


def test_files_that_cannot_be_used_are_named(authority, tmp_path):
    with pytest.raises(InvalidValue, match=r"away\.pem.*in PEM"):
        ClientTls(TlsSettings(trust=tmp_path / "away.pem"))
    certificate, _ = authority.issue("broker")
    with pytest.raises(InvalidValue, match=r"broker\.pem"):
        ClientTls(settings(authority, (certificate, authority.file)))


def test_why_it_did_not_come_about():
    other_name = ssl.SSLCertVerificationError()
    other_name.verify_code, other_name.verify_message = 64, "IP address mismatch"
    assert "bookkeeper_tlsHostnameVerificationEnabled" in trouble(other_name)
    unknown = ssl.SSLCertVerificationError()
    unknown.verify_code, unknown.verify_message = 20, "unable to get local issuer certificate"
    assert "bookkeeperTLSTrustCertsFilePath" in trouble(unknown)
    assert "it hung up" in trouble(ConnectionResetError())
