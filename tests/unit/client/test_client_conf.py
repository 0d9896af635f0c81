import logging

import pytest

from magnetar.client.authentication.token import AuthenticationToken
from magnetar.client.client_conf import settings_in_conf
from magnetar.errors import InvalidValue

# What Pulsar ships, without its comments.
SHIPPED = """
# Configuration for pulsar-client and pulsar-admin CLI tools
webServiceUrl=http://localhost:8080/
brokerServiceUrl=pulsar://localhost:6650/
authPlugin=
authParams=
tlsAllowInsecureConnection=false
tlsEnableHostnameVerification=false
tlsTrustCertsFilePath=
tlsCertificateFilePath=
tlsKeyFilePath=
useKeyStoreTls=false
tlsTrustStoreType=JKS
tlsTrustStorePath=
tlsTrustStorePassword=
tlsKeyStoreType=JKS
tlsKeyStorePath=
tlsKeyStorePassword=
webserviceTlsProvider=
"""


def test_the_file_that_pulsar_ships_is_read_without_a_word(caplog):
    with caplog.at_level(logging.INFO):
        found = settings_in_conf(SHIPPED, "client.conf")
    assert found == {
        "service_url": "pulsar://localhost:6650/",
        "tls_allow_insecure": False,
        "tls_verify_hostname": False,
    }
    assert caplog.text == ""


def test_every_key_that_is_known_says_something():
    found = settings_in_conf(
        """
        brokerServiceUrl = pulsar+ssl://h:6651
        authPlugin=org.apache.pulsar.client.impl.auth.AuthenticationToken
        authParams=token:a=b
        useTls=true
        tlsAllowInsecureConnection=true
        tlsEnableHostnameVerification=TRUE
        tlsTrustCertsFilePath=/ca.pem
        tlsCertificateFilePath=/c.pem
        tlsKeyFilePath=/k.pem
        listenerName=external
        """,
        "client.conf",
    )
    shown = found.pop("authentication")
    assert isinstance(shown, AuthenticationToken)
    assert found == {
        "service_url": "pulsar+ssl://h:6651",
        "tls_allow_insecure": True,
        "tls_verify_hostname": True,
        "tls_trust_certs_file": "/ca.pem",
        "tls_certificate_file": "/c.pem",
        "tls_key_file": "/k.pem",
        "listener_name": "external",
    }


def test_without_a_broker_the_web_service_is_asked():
    assert settings_in_conf("webServiceUrl=http://h:8080", "f")["service_url"] == "http://h:8080"


def test_keys_that_mean_nothing_here_are_named_once(caplog):
    text = "brokerServiceUrl=pulsar://h\nbookies=3\nanswer=42\n"
    with caplog.at_level(logging.WARNING):
        settings_in_conf(text, "client.conf")
    assert [record.message for record in caplog.records] == [
        "client.unknown_keys file=client.conf keys=answer,bookies"
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("useKeyStoreTls=true", "useKeyStoreTls is not for this client: export"),
        ("tlsTrustStorePath=/t.jks", "tlsTrustStorePath"),
        ("tlsKeyStorePassword=s3cret", "tlsKeyStorePassword"),
        ("proxyServiceUrl=pulsar://p", "proxyServiceUrl"),
        ("useTls=true", "useTls is true, but the URL is plain"),
        ("tlsAllowInsecureConnection=maybe", "tlsAllowInsecureConnection is 'maybe'"),
        ("authParams=token:s3cret", "authParams without authPlugin"),
        ("authPlugin=org.example.Own", "org.example.Own"),
        ("brokerServiceUrl=", "no brokerServiceUrl"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(line, says):
    text = "" if line == "brokerServiceUrl=" else "brokerServiceUrl=pulsar://h\n"
    with pytest.raises(InvalidValue, match=says) as raised:
        settings_in_conf(text + line, "client.conf")
    assert "s3cret" not in str(raised.value)
