import stat

import pytest
from click.testing import CliRunner

from magnetar import Client
from magnetar.broker.config import Config
from magnetar.broker.settings.properties import parse_properties
from magnetar.client.authentication.plugins import authentication_of
from magnetar.errors import InvalidValue, NotAuthenticated
from magnetar.testing.local_broker import LocalBroker
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
    async with LocalBroker(settings=settings_in(folder / "broker.conf")) as broker:
        shown = authentication_of(client["authPlugin"], client["authParams"])
        async with Client(broker.service_url, authentication=shown) as superuser:
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
