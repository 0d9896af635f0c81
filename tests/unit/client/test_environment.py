import pytest

from magnetar.client.authentication.basic import AuthenticationBasic
from magnetar.client.authentication.token import AuthenticationToken
from magnetar.client.client import Client
from magnetar.client.environment import read_conf, settings_in_environment
from magnetar.errors import InvalidValue

URL = {"PULSAR_SERVICE_URL": "pulsar+ssl://h"}


def test_every_setting_has_its_variable():
    found = settings_in_environment(
        {
            **URL,
            "PULSAR_TLS_TRUST_CERTS_FILE": "/ca.pem",
            "PULSAR_TLS_VERIFY_HOSTNAME": "False",
            "PULSAR_OPERATION_TIMEOUT_S": "2.5",
            "PULSAR_CONNECTIONS_PER_BROKER": "3",
            "PULSAR_LISTENER_NAME": "external",
            "PULSAR_MEM": "-Xmx1g",
            "PULSAR_TLS_KEY_FILE": "",
            "HOME": "/",
        }
    )
    assert found == {
        "service_url": "pulsar+ssl://h",
        "tls_trust_certs_file": "/ca.pem",
        "tls_verify_hostname": False,
        "operation_timeout_s": 2.5,
        "connections_per_broker": 3,
        "listener_name": "external",
    }


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"PULSAR_TOKEN": "abc"}, AuthenticationToken),
        ({"PULSAR_TOKEN_FILE": "/t"}, AuthenticationToken),
        (
            {"PULSAR_AUTH_PLUGIN": "basic", "PULSAR_AUTH_PARAMS": "userId:me,password:x"},
            AuthenticationBasic,
        ),
    ],
)
def test_the_ways_to_say_who_the_client_is(variables, expected):
    assert isinstance(settings_in_environment(URL | variables)["authentication"], expected)


def test_variables_go_before_the_file(tmp_path):
    conf = tmp_path / "client.conf"
    conf.write_text(
        "brokerServiceUrl=pulsar://file\nlistenerName=a\nauthPlugin=token\nauthParams=t"
    )
    variables = {"PULSAR_CLIENT_CONF": str(conf), "PULSAR_LISTENER_NAME": "b", "PULSAR_TOKEN": "u"}
    found = settings_in_environment(variables)
    assert (found["service_url"], found["listener_name"]) == ("pulsar://file", "b")
    assert read_conf(str(conf))["listener_name"] == "a"


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({}, "neither PULSAR_SERVICE_URL nor PULSAR_CLIENT_CONF is set"),
        ({**URL, "PULSAR_TLS_TRUST_CERT_FILE": "/ca.pem"}, "PULSAR_TLS_TRUST_CERT_FILE .*misspelt"),
        ({**URL, "PULSAR_AUTHENTICATION": "s3cret"}, "PULSAR_AUTHENTICATION .*misspelt"),
        ({**URL, "PULSAR_OPERATION_TIMEOUT_S": "soon"}, "'soon'; it must be a number"),
        ({**URL, "PULSAR_TLS_ALLOW_INSECURE": "0"}, "it must be true or false"),
        ({**URL, "PULSAR_TOKEN": "s3cret", "PULSAR_TOKEN_FILE": "/t"}, "keep one of them"),
        ({**URL, "PULSAR_AUTH_PARAMS": "s3cret"}, "without PULSAR_AUTH_PLUGIN"),
        ({"PULSAR_CLIENT_CONF": "/no/such/client.conf"}, "/no/such/client.conf cannot be read"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(variables, says):
    with pytest.raises(InvalidValue, match=says) as raised:
        settings_in_environment(variables)
    assert "s3cret" not in str(raised.value)


async def test_a_client_is_made_of_either(peer, tmp_path, monkeypatch):
    conf = tmp_path / "client.conf"
    conf.write_text(f"brokerServiceUrl={peer.url}\n")
    async with Client.from_config(str(conf)) as client:
        assert await client.partitions("t") == 0
    with pytest.raises(InvalidValue, match="operation_timeout_s"):
        Client.from_config(str(conf), operation_timeout_s=0)
    monkeypatch.setenv("PULSAR_SERVICE_URL", peer.url)
    monkeypatch.setenv("PULSAR_TOKEN", "abc")
    async with Client.from_env() as client:
        await client.partitions("t")
    assert peer.commands[-2].connect.auth_data == b"abc"
    monkeypatch.setenv("PULSAR_SERVICE_URL", "pulsar://me:s3cret@h")
    with pytest.raises(InvalidValue, match="service URL") as raised:
        Client.from_env()
    assert "s3cret" not in str(raised.value)
