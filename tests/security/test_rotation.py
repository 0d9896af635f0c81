"""What docs/rotation.md says becomes of a broker and its clients, tried by its own commands."""

import asyncio
import ssl
from pathlib import Path

import pytest
from click.testing import CliRunner
from documents.snippets import commands, snippets
from support.loop import until

from magnetar import AuthenticationToken, Client
from magnetar.broker.settings.properties import parse_properties
from magnetar.errors import MagnetarError, NotAuthenticated
from magnetar.testing.local_broker import LocalBroker
from magnetar.tools.init_auth import init_auth
from magnetar.tools.tokens import tokens

PAGE = "docs/rotation.md"
SETTINGS = {
    "brokerServicePortTls": "0",
    "webServicePortTls": "0",
    "tlsCertRefreshCheckDurationSec": "1",
}


class Steps:
    """The commands of the page, in its order."""

    def __init__(self):
        self._left = [
            command
            for snippet in snippets(PAGE)
            if snippet.language == "console"
            for command, _ in commands(snippet)
        ]

    def follow(self, begins: str) -> None:
        """Type the next command, which begins so."""
        command = self._left.pop(0)
        assert command.startswith(begins), command
        words, _, file = command.partition(" > ")
        name, *arguments = words.split()
        if name == "mv":
            Path(arguments[0]).replace(arguments[1])
            return
        verb, *arguments = arguments
        done = CliRunner().invoke({"init-auth": init_auth, "tokens": tokens}[verb], arguments)
        assert done.exit_code == 0, (command, done.output, done.exception)
        if file:
            Path(file).write_text(done.stdout)

    @property
    def done(self) -> bool:
        return not self._left


def read(name: str) -> str:
    return Path("auth", name).read_text()


def settings() -> dict[str, str]:
    pairs = parse_properties(read("broker.conf"))
    return {pair.key: pair.value for pair in pairs} | SETTINGS


def shown(role: str = "orders") -> AuthenticationToken:
    return AuthenticationToken(file=f"auth/{role}.token")


async def let_in(broker, authentication) -> bool:
    async with Client(broker.service_url, authentication=authentication) as client:
        try:
            await client.partitions("t")
        except NotAuthenticated:
            return False
        except MagnetarError:
            return True  # It may not ask that, which is told to those who are known.
    return True


async def certificate_of(broker) -> bytes:
    context = ssl.create_default_context(cafile="auth/ca.pem")
    port = broker.broker.port_tls
    _, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context, server_hostname="localhost"
    )
    shown_by_broker = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return shown_by_broker


@pytest.fixture
def steps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Steps()


async def test_what_the_page_does_to_a_broker_that_runs(steps, caplog):
    steps.follow("magnetar init-auth auth --algorithm ES256")
    async with (
        LocalBroker(settings=settings()) as broker,
        Client(broker.service_url, authentication=shown("superuser")) as connected,
    ):
        producer = await connected.create_producer("t")
        before, first = await certificate_of(broker), read("orders.token")

        steps.follow("magnetar init-auth auth --renew")
        assert read("orders.token") != first
        await until(lambda: "tls.renewed" in caplog.text)
        assert await certificate_of(broker) != before
        assert await let_in(broker, AuthenticationToken(first))
        assert await let_in(broker, shown())
        await producer.send(b"goes on")

        steps.follow("magnetar tokens create --subject orders --expiry-time 90d")
        steps.follow("mv ")
        assert await let_in(broker, shown())

        second = read("orders.token")
        steps.follow("magnetar tokens create-key-pair")
        steps.follow("magnetar tokens create-key-set --key 1=auth/public.key --key 2=")
        assert await let_in(broker, shown())
        for begins in ("mv ", "mv ", "magnetar init-auth auth --renew --kid 2"):
            steps.follow(begins)
        assert read("orders.token") != second
        for token in (first, second, read("orders.token")):
            assert await let_in(broker, AuthenticationToken(token))

        steps.follow("magnetar tokens create-key-set --key 2=")
        for token in (first, second):
            assert not await let_in(broker, AuthenticationToken(token))
        assert await let_in(broker, shown())
        await producer.send(b"goes on")
        assert steps.done
