"""The settings of TLS with bookies; ``tests/contract/test_bookie_tls.py`` has a broker with it."""

import pytest

from magnetar.broker.config import Config

CLUSTER = {"metadataStoreUrl": "zk:one:2181"}
ON = {"bookkeeperTLSClientAuthentication": "true"}
TRUST = {"bookkeeperTLSTrustCertsFilePath": "/ca.pem"}
CERTIFICATE = {"bookkeeperTLSCertificateFilePath": "/one.pem"}
KEY = {"bookkeeperTLSKeyFilePath": "/one-key.pem"}


def refused(*given):
    flags = {key: value for each in given for key, value in each.items()}
    return Config.read_to_show(flags=flags).refused


@pytest.mark.parametrize("given", [{}, {**CERTIFICATE, **KEY}])
def test_a_certificate_may_be_shown(given):
    assert not refused(CLUSTER, ON, TRUST, given)


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({**ON, **TRUST}, "metadataStoreUrl"),
        ({**CLUSTER, **ON}, "set bookkeeperTLSTrustCertsFilePath"),
        ({**CLUSTER, **ON, **TRUST, **KEY}, "or neither"),
        ({**CLUSTER, **ON, **TRUST, **CERTIFICATE}, "or neither"),
        ({**CLUSTER, **TRUST}, "set bookkeeperTLSClientAuthentication=true"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_remedy(given, remedy):
    [said] = refused(given)
    assert remedy in said


def test_files_may_wait_for_the_switch():
    off = {"bookkeeperTLSClientAuthentication": "false"}
    assert not refused(CLUSTER, off, TRUST, CERTIFICATE, KEY)


@pytest.mark.parametrize("key", ["bookkeeperTLSKeyFileType", "bookkeeperTLSTrustCertTypes"])
def test_keystores_of_java_are_refused_with_the_remedy(key):
    [said] = refused(CLUSTER, ON, TRUST, {key: "JKS"})
    assert "openssl" in said
