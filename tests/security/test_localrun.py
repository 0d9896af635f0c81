"""``functions localrun`` beside a broker that has TLS and asks who its clients are."""

import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner
from support.certificates import Authority
from support.tokens import TAKES_TOKENS, token

from magnetar import AuthenticationToken
from magnetar.client.admin_api import AdminApi
from magnetar.client.blocking import Client
from magnetar.errors import InvalidValue
from magnetar.testing.local_broker import BrokerThread
from magnetar.testing.ports import free_port
from magnetar.tools.cli import magnetar

CODE = "def process(input):\n    return str(int(input) * 2)\n"


class Secured:
    """A broker on TLS alone that takes tokens; ``app`` may produce and consume."""

    def __init__(self, folder):
        self.authority = Authority(folder)
        certificate, key = self.authority.issue("pulsar")
        port, web_port = free_port(), free_port()
        self.url, self.web_url = f"pulsar+ssl://localhost:{port}", f"https://localhost:{web_port}"
        self.settings = {
            **TAKES_TOKENS,
            "authorizationEnabled": "true",
            "superUserRoles": "root",
            "brokerServicePortTls": port,
            "webServicePortTls": web_port,
            "tlsCertificateFilePath": certificate,
            "tlsKeyFilePath": key,
            "brokerDeduplicationEnabled": "true",
        }

    def client(self):
        return Client(self.url, **self._as("app"))

    def grant(self, role, *actions):
        api = AdminApi(self.web_url, **self._as("root"))
        api.send("POST", f"/admin/v2/namespaces/public/default/permissions/{role}", list(actions))

    def _as(self, role):
        return {
            "authentication": AuthenticationToken(token(role)),
            "tls_trust_certs_file": str(self.authority.file),
        }


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    found = Secured(tmp_path_factory.mktemp("secured"))
    with BrokerThread(settings=found.settings):
        found.grant("app", "produce", "consume")
        yield found


@pytest.fixture
def words(secured, tmp_path):
    (tmp_path / "twice.py").write_text(CODE)
    words = ["functions", "localrun", "--py", str(tmp_path / "twice.py"), "--classname", "twice"]
    words += ["--name", "twice", "--inputs", "in", "--output", "out", "--subs-position", "Earliest"]
    words += ["--tls-trust-cert-path", str(secured.authority.file)]
    plain = secured.url.replace("+ssl", "")
    return [
        *words,
        "--broker-service-url",
        plain,
        "--use-tls",
        "--web-service-url",
        secured.web_url,
    ]


def test_it_runs_as_the_role_that_it_is_given(secured, words, tmp_path):
    (tmp_path / "token").write_text(token("app"))
    words += ["--processing-guarantees", "EFFECTIVELY_ONCE"]  # For which it asks the admin API.
    words += ["--client-auth-plugin", "org.apache.pulsar.client.impl.auth.AuthenticationToken"]
    words += ["--client-auth-params", f"file://{tmp_path}/token"]
    with (
        secured.client() as client,
        client.subscribe("out", "s") as output,
        client.create_producer("in") as producer,
    ):
        producer.send(b"21")
        process = subprocess.Popen(
            [sys.executable, "-m", "magnetar.tools.cli", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            assert output.receive(60).data == b"42"
        finally:
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert token("app").encode() not in said


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        ([], "no credentials were shown"),
        (["--client-auth-plugin", "token", "--client-auth-params", token("nobody")], "not author"),
    ],
)
def test_without_the_permission_it_ends_and_says_so(words, shown, says):
    done = CliRunner().invoke(magnetar, [*words, *shown])
    assert isinstance(done.exception, InvalidValue), done.output
    with pytest.raises(InvalidValue, match=says):
        raise done.exception
