import click
import pytest
from click.testing import CliRunner

from magnetar.client.authentication.token import AuthenticationToken
from magnetar.errors import InvalidValue
from magnetar.tools.connection import Connection, connection_options


def test_an_option_goes_before_the_environment_before_the_file(tmp_path):
    conf = tmp_path / "client.conf"
    conf.write_text("webServiceUrl=http://file:1\nbrokerServiceUrl=pulsar://file:2\n")
    nothing = Connection({}, {})
    assert (nothing.admin_url, nothing.service_url) == (
        "http://localhost:8080",
        "pulsar://localhost:6650",
    )
    environment = {"PULSAR_CLIENT_CONF": str(conf)}
    file = Connection({}, environment)
    assert (file.admin_url, file.service_url) == ("http://file:1", "pulsar://file:2")
    environment |= {"PULSAR_ADMIN_URL": "http://env:1", "PULSAR_SERVICE_URL": "pulsar://env:2"}
    variables = Connection({}, environment)
    assert (variables.admin_url, variables.service_url) == ("http://env:1", "pulsar://env:2")
    given = {"admin_url": "http://option:1", "service_url": "pulsar://option:2"}
    assert Connection(given, environment).admin_url == "http://option:1"
    assert Connection(given, environment).client == {"service_url": "pulsar://option:2"}


def test_the_file_is_found_where_pulsar_has_it(tmp_path, monkeypatch):
    (tmp_path / "conf").mkdir()
    file = tmp_path / "conf" / "client.conf"
    file.write_text("webServiceUrl=http://home:1\n")
    assert Connection({}, {"PULSAR_HOME": str(tmp_path)}).admin_url == "http://home:1"
    monkeypatch.chdir(tmp_path)
    assert Connection({}, {}).conf_file.resolve() == file
    assert Connection({"client_conf": "/no/such"}, {}).conf_file.name == "such"


def test_who_asks_and_how():
    given = {
        "auth_plugin": "token",
        "auth_params": "token:a.b",
        "tls_trust_cert_path": "/ca.pem",
        "tls_verify_hostname": False,
    }
    options = Connection(given, {}).options
    assert isinstance(options.pop("authentication"), AuthenticationToken)
    assert options == {"tls_trust_certs_file": "/ca.pem", "tls_verify_hostname": False}
    with pytest.raises(InvalidValue, match="--auth-params without --auth-plugin"):
        _ = Connection({"auth_params": "x"}, {}).options
    with pytest.raises(InvalidValue, match="--tls-provider names a provider of Java"):
        _ = Connection({"tls_provider": "OPENSSL"}, {}).options
    with pytest.raises(InvalidValue, match="--tls-trust-cert-path is for https://"):
        Connection({"tls_trust_cert_path": "/ca.pem"}, {}).api()


def test_a_commands_options_go_before_its_groups():
    group = Connection({"admin_url": "http://group", "request_timeout": 5.0}, {})
    found = Connection({"admin_url": "http://verb", "request_timeout": None}, {}).over(group)
    assert found.given == {"admin_url": "http://verb", "request_timeout": 5.0}


def test_a_command_takes_the_options_as_one():
    @click.command()
    @connection_options
    @click.argument("topic")
    @click.option("-n", type=int)
    def peek(connection, topic, n):
        click.echo(f"{connection.admin_url} {connection.service_url} {topic} {n}")

    said = CliRunner().invoke(
        peek, ["t", "-n", "2", "--admin-url", "http://a", "--url", "pulsar://b"]
    )
    assert said.output == "http://a pulsar://b t 2\n"
    help_text = CliRunner().invoke(peek, ["--help"]).output
    assert help_text.index("-n INTEGER") < help_text.index("--url")
