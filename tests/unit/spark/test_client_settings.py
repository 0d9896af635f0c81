import pytest
from pyspark import cloudpickle

from magnetar.client.authentication.token import AuthenticationToken
from magnetar.errors import InvalidValue
from magnetar.spark.client_settings import ClientSettings


def parse(**given):
    return ClientSettings.parse({f"pulsar.client.{name}": value for name, value in given.items()})


def test_settings_have_the_names_of_javas_client_whatever_their_case():
    settings = parse(
        tlstrustcertsfilepath="/ca.pem", TLSHOSTNAMEVERIFICATIONENABLE="false",
        connectionTimeoutMs="1500", maxBackoffIntervalNanos="2000000000", connectionsPerBroker="2",
    )  # fmt: skip
    assert settings.options() == {
        "tls_trust_certs_file": "/ca.pem",
        "tls_verify_hostname": False,
        "connection_timeout_s": 1.5,
        "backoff_max_s": 2.0,
        "connections_per_broker": 2,
    }


def test_other_options_are_not_the_clients():
    assert ClientSettings.parse({"topic": "a", "timeoutSeconds": "5"}) == ClientSettings()


def test_credentials_go_to_other_processes_and_are_not_shown():
    plugin = "org.apache.pulsar.client.impl.auth.AuthenticationToken"
    settings = parse(authPluginClassName=plugin, authParams="token:geheim")
    assert "geheim" not in repr(settings)
    there = cloudpickle.loads(cloudpickle.dumps(settings))
    assert there == settings
    assert isinstance(there.options()["authentication"], AuthenticationToken)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"tlsTrustCertFilePath": "x"}, r"did you mean 'pulsar\.client\.tlsTrustCertsFilePath'"),
        ({"dnsServer": "x"}, "unknown option .*: there are listenerName"),
        ({"serviceUrl": "pulsar://x"}, r"use service\.url"),
        ({"operationTimeoutMs": "5"}, "use timeoutSeconds"),
        ({"tlsAllowInsecureConnection": "yes"}, "true or false"),
        ({"connectionTimeoutMs": "5 s"}, "whole number"),
        ({"authParams": "token:x"}, "authPluginClassName beside it"),
        ({"authPluginClassName": "kerberos"}, "kerberos"),
    ],
)
def test_what_is_wrong_with_a_setting_is_said_with_the_remedy(given, says):
    with pytest.raises(InvalidValue, match=says):
        parse(**given)
