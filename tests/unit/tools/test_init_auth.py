import stat
import time

import jwt
import pytest
from click.testing import CliRunner

from magnetar import Client
from magnetar.auth.certificates import ends
from magnetar.broker.config import Config
from magnetar.broker.server_tls import context_of
from magnetar.broker.settings.properties import parse_properties
from magnetar.broker.settings.tls import TlsSettings
from magnetar.client.authentication.plugins import authentication_of
from magnetar.errors import InvalidValue, NotAuthenticated
from magnetar.testing.local_broker import LocalBroker
from magnetar.tools.certificates import hosts_of
from magnetar.tools.init_auth import init_auth


def run(*args):
    result = CliRunner().invoke(init_auth, list(map(str, args)))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def settings_in(file):
    return {pair.key: pair.value for pair in parse_properties(file.read_text())}


@pytest.mark.parametrize("algorithm", ["HS256", "RS256", "ES256"])
async def test_a_broker_of_it_lets_in_who_has_its_tokens(tmp_path, algorithm):
    folder = tmp_path / "auth"
    said = run(folder, "--algorithm", algorithm, "--role", "orders")
    assert f"magnetar standalone --conf {folder}/broker.conf" in said
    assert not Config.read(file=folder / "broker.conf").refused
    client = settings_in(folder / "client.conf")
    ports = {"brokerServicePortTls": "0", "webServicePortTls": "0"}
    async with LocalBroker(settings=settings_in(folder / "broker.conf") | ports) as broker:
        shown = authentication_of(client["authPlugin"], client["authParams"])
        by_tls = f"pulsar+ssl://localhost:{broker.broker.port_tls}"
        trust = client["tlsTrustCertsFilePath"]
        async with Client(by_tls, authentication=shown, tls_trust_certs_file=trust) as superuser:
            await (await superuser.create_producer("t")).send(b"x")
        async with Client(broker.service_url) as nobody:
            with pytest.raises(NotAuthenticated):
                await nobody.create_producer("t")
    assert (folder / "orders.token").exists()


def test_nobody_else_reads_what_it_makes_and_nothing_is_overwritten(tmp_path):
    folder = tmp_path / "auth"
    said = run(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        if file.suffix in (".token", ".key"):
            assert file.read_bytes().decode(errors="replace") not in said
    with pytest.raises(InvalidValue, match="is there already"):
        run(folder)


@pytest.mark.parametrize("role", ["../x", "a,b", "", " "])
def test_a_role_that_makes_no_file_is_refused(tmp_path, role):
    with pytest.raises(InvalidValue, match="--role"):
        run(tmp_path / "auth", "--role", role)
    assert not (tmp_path / "auth").exists()


def expiry_of(file):
    return jwt.decode(file.read_text(), options={"verify_signature": False})["exp"]


def test_tokens_and_certificate_end_and_are_renewed_together(tmp_path):
    folder = tmp_path / "auth"
    run(folder, "--host", "broker.example.com", "--host", "192.0.2.7", "--expiry-time", "10d")
    assert expiry_of(folder / "admin.token") == pytest.approx(time.time() + 10 * 86_400, abs=60)
    pem = (folder / "broker.pem").read_bytes()
    assert ends(pem)[0].timestamp() == pytest.approx(time.time() + 10 * 86_400, abs=60)
    assert hosts_of(pem)[:3] == ["broker.example.com", "192.0.2.7", "localhost"]
    (folder / "ca.pem").chmod(0o644)
    said = run(folder, "--renew", "--expiry-time", "30d", "--role", "more")
    names = ["admin", "functions-worker", "superuser", "more"]
    assert said == f"Made again, to hold for 30d: broker.pem, {'.token, '.join(names)}.token\n"
    for name in names:
        file = folder / f"{name}.token"
        assert expiry_of(file) == pytest.approx(time.time() + 30 * 86_400, abs=60)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    renewed = (folder / "broker.pem").read_bytes()
    assert ends(renewed)[0] > ends(pem)[0]
    assert hosts_of(renewed) == hosts_of(pem)
    context_of(TlsSettings(port=0, certificate=folder / "broker.pem", key=folder / "broker.key"))
    assert not [file for file in folder.iterdir() if file.name.startswith(".")]


def test_for_other_machines_there_is_tls_only(tmp_path):
    folder = tmp_path / "auth"
    run(folder, "--host", "broker.example.com")
    config = Config.read(file=folder / "broker.conf")
    assert (config.server.bind_address, config.server.advertised_address) == (
        "0.0.0.0",
        "broker.example.com",
    )
    assert (config.server.broker_port, config.server.web_port, config.tls.port) == (-1, -1, 6651)
    client = settings_in(folder / "client.conf")
    assert client["brokerServiceUrl"] == "pulsar+ssl://broker.example.com:6651"
    assert not config.warnings


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--renew",), "is no folder that init-auth made"),
        (("--renew", "--host", "x"), "--renew keeps the names"),
        (("--expiry-time", "soon"), "write a number and s, m, h, d, w or y"),
        (("--host", "\u00fc.example"), "no certificate can be made of --host"),
    ],
)
def test_what_cannot_be_made_is_named(tmp_path, arguments, said):
    with pytest.raises(InvalidValue, match=said):
        run(tmp_path / "auth", *arguments)
