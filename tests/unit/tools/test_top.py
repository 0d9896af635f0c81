"""top, printed once and in a terminal."""

import json
import os
import pty
import subprocess
import sys

import pytest
from click.testing import CliRunner
from support.tokens import TAKES_TOKENS, token

from magnetar.client import blocking
from magnetar.errors import NotAuthorized
from magnetar.model.subscriptions import SubscriptionType
from magnetar.testing.local_broker import BrokerThread
from magnetar.tools.cli import magnetar
from magnetar.tools.top import _screen


@pytest.fixture(scope="module")
def broker():
    with BrokerThread() as running, blocking.Client(running.service_url) as client:
        client.subscribe("watched", "stuck", type=SubscriptionType.SHARED).close()
        with client.create_producer("watched") as producer:
            producer.send(b"x")
        client.create_producer("alone").close()
        yield running


def once(broker, *more):
    words = ["top", "--once", "--interval", "0.01", "--admin-url", broker.web_url, *more]
    return CliRunner().invoke(magnetar, words, catch_exceptions=False).output


def test_one_look_for_scripts(broker):
    shown = once(broker)
    assert "backlog 1" in shown.splitlines()[0]
    assert "no consumer is connected" in shown
    assert "public/default/alone" in shown
    [row] = json.loads(once(broker, "-o", "json", "--filter", "stuck"))
    assert (row["subscription"], row["msgBacklog"]) == ("stuck", 1)
    assert "and 1 topics more" in once(broker, "--namespace", "public/default", "--limit", "1")


def test_a_screen_that_follows_keys(broker):
    """In a terminal of its own, as its user would have it."""
    terminal, theirs = pty.openpty()
    shown = {"COLUMNS": "150", "LINES": "30", "TERM": "xterm"}
    top = subprocess.Popen(
        [sys.executable, "-m", "magnetar.tools.cli", "top", "--interval", "0.05"],
        env={**os.environ, "PULSAR_ADMIN_URL": broker.web_url, **shown},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)

    def until(expected):
        seen = b""
        while expected not in seen:
            seen += os.read(terminal, 65536)

    until(b"watched")
    os.write(terminal, b"n/alone\r")
    until(b"filter: alone")
    os.write(terminal, b"q")
    until(b"\x1b[?1049l")  # The screen from before comes back.
    assert top.wait(20) == 0
    os.close(terminal)


def test_who_may_not_see_all_is_told_to_name_a_namespace():
    settings = {**TAKES_TOKENS, "authorizationEnabled": "true", "superUserRoles": "root"}
    with BrokerThread(settings=settings) as guarded:
        more = ["--auth-plugin", "token", "--auth-params", f"token:{token('clerk')}"]
        with pytest.raises(NotAuthorized, match=r"^to watch all .* with --namespace .* superuser"):
            once(guarded, *more)


def test_a_narrow_terminal_has_room_for_why(monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    _, table = _screen([], 0, "").renderables
    shown = [str(column.header) for column in table.columns]
    assert shown == ["TOPIC", "IN MSG/S", "SUBSCRIPTION", "BACKLOG", "WHY NOTHING MOVES"]
