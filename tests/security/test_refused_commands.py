"""How a broker refuses commands, as a live Pulsar 4.0.7 did: ``refused_commands.jsonl``.

``MAGNETAR_WITH_PULSAR=1`` asks an Apache Pulsar again, and ``REWRITE=1`` with it keeps the answers.
"""

import asyncio
import json
import os
import time
import urllib.request
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from security.refused_commands import SETTINGS, converse
from support.apache_pulsar import WITH_PULSAR, apache_pulsar
from support.clock import ManualClock
from support.tokens import token

from magnetar.broker.handlers.sign_in import FAILED
from magnetar.testing.local_broker import LocalBroker

CLIENTS = "org.apache.pulsar.client.impl.auth"
GOLDEN = Path(__file__).parent / "refused_commands.jsonl"
OF_PULSAR = "".join(
    f"{key}={value}\n"
    for key, value in {
        **SETTINGS,
        "brokerClientAuthenticationPlugin": f"{CLIENTS}.AuthenticationToken",
        "brokerClientAuthenticationParameters": f"token:{token('root')}",
    }.items()
)


@asynccontextmanager
async def opened(request, folder):
    if not WITH_PULSAR:
        clock = ManualClock(time.time())
        # One look at who is to show a new token; the next would end who did not yet.
        settings = SETTINGS | {
            "authenticationRefreshCheckSeconds": "100",
            "keepAliveIntervalSeconds": "3600",
        }
        async with LocalBroker(settings=settings, clock=clock) as broker:
            expire = partial(clock.advance, 100)
            yield partial(converse, broker.port, broker.web_url, life_s=60, expire=expire)
        return
    opener = urllib.request.build_opener()
    opener.addheaders = [("Authorization", f"Bearer {token('root')}")]
    urllib.request.install_opener(opener)
    with apache_pulsar(request, folder, OF_PULSAR) as pulsar:
        port = int(pulsar.url.rpartition(":")[2])
        yield partial(converse, port, pulsar.web_url, life_s=3, expire=partial(asyncio.sleep, 0))


EXCEPTION = "of a tenant that is not there Pulsar tells an exception of its own"
WHY = "ours say why, behind Pulsar's words, before they hang up"
REASONS = {
    ("CONNECT", "a token of nobody"): "a role without a name is nobody's",
    ("CONNECT", ""): WHY,
    ("AUTH_RESPONSE", "nobody asked"): "nobody tries tokens on a connection that is let in",
    ("AUTH_RESPONSE", ""): WHY,
    ("GET_SCHEMA", ""): "Pulsar 4.0 asks nobody",
    ("GET_OR_CREATE_SCHEMA", ""): "Pulsar 4.0 asks nobody",
    ("", "in no tenant"): EXCEPTION,
}
"""Why ours differ, by command and the beginning of the case; "" is any."""


def reason(row):
    for (command, case), why in REASONS.items():
        if command in ("", row["command"]) and row["case"].startswith(case):
            return why
    return None


async def test_commands_are_refused_as_pulsar_refuses_them(request, tmp_path):
    async with opened(request, tmp_path) as asks:
        found = await asks()
    if WITH_PULSAR and os.environ.get("REWRITE"):
        GOLDEN.write_text("".join(json.dumps(each) + "\n" for each in found))
    recorded = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
    assert [(row["command"], row["case"]) for row in found] == [
        (row["command"], row["case"]) for row in recorded
    ]
    for row in found:  # Ours say who was refused, and where.
        if "message" in row:
            row["message"] = row["message"].partition(": the role ")[0]
    pairs = list(zip(recorded, found, strict=True))
    differing = [(theirs, ours) for theirs, ours in pairs if theirs != ours]
    assert [pair for pair in differing if reason(pair[1]) is None] == []
    if WITH_PULSAR:
        assert differing == []
        return
    assert {reason(ours) for _, ours in differing} == set(REASONS.values())
    for theirs, ours in differing:
        assert "error" in ours, "ours may be stricter, and nothing else"
        if reason(ours) == EXCEPTION:
            assert ours["error"] == theirs["error"]
        if reason(ours) == WHY:
            assert ours["stays"] is theirs["stays"] is False
            assert ours["message"].startswith(f"{theirs.get('message', FAILED)}: ")
            assert ours["error"] == theirs.get("error", "AuthenticationError")
