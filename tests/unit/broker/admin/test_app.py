import subprocess
import sys

import pytest

from magnetar import inner
from magnetar.broker.addresses import listen
from magnetar.broker.admin.app import start_admin
from magnetar.rest.listener import Listener


async def test_it_serves_on_a_port_that_was_taken_before_and_frees_it(world):
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    server = await start_admin(world.admin, [Listener(listener)])
    assert server.port == port
    await server.close()
    await server.close()
    listen("127.0.0.1", port).close()


STARTED = """
import sys
python_s_own = set(sys.modules)
import asyncio
from magnetar.testing.local_broker import LocalBroker
async def main():
    async with LocalBroker() as broker:
        print(*sorted(set(sys.modules) - python_s_own))
        import urllib.request
        url = f"{broker.web_url}/admin/v2/tenants"
        await asyncio.to_thread(lambda: urllib.request.urlopen(url).read())
        print(*sorted(sys.modules))
asyncio.run(main())
"""
MODULES_OF_A_BROKER_MAX = 207
"""Of our own under ``magnetar.broker``, when it is ready; all cost time at every start, though one
that was divided into several costs what it did."""


IMPORTED_AT_START = {"cramjam", "google", "google_crc32c"}
"""What is not Python's or our own; all cost time at every start."""


PLAIN = "magnetar.inner.plain."
VALUES = {f"{PLAIN}{name}" for name in ("batches", "checksum", "fields", "records")}
"""Those that have values, too; the loops are compiled."""
SELDOM_NEEDED = {"bz2", "difflib", "logging.handlers", "lzma", "shutil", "statistics", "tempfile"}
"""Of Python's: each took 1 to 3 ms of every start, and is imported by what needs it."""


def test_routes_are_imported_when_the_first_request_comes():
    started = [sys.executable, "-c", STARTED]
    told = subprocess.run(started, check=True, timeout=60, capture_output=True, text=True).stdout
    ready, asked = (set(line.split()) for line in told.splitlines())
    assert len([name for name in ready if name.startswith("magnetar.broker.")]) <= (
        MODULES_OF_A_BROKER_MAX
    )
    imported = {name.partition(".")[0] for name in ready if not name.startswith("_")}
    assert imported - sys.stdlib_module_names - {"magnetar"} == IMPORTED_AT_START
    if inner.BUILD == "compiled":
        assert {name for name in ready if name.startswith(PLAIN)} <= VALUES
    assert SELDOM_NEEDED & ready == set()
    assert "aiohttp" in asked
    late = {
        f"magnetar.{name}"
        for name in (
            "broker.admin.routes.table",
            "broker.admin.routes.tenants",
            "broker.admin.messages.redrive",
            "rest.openapi",
        )
    }
    assert late & ready == set()
    assert late <= asked
    never = {"jwt", "passlib", "bcrypt", "prometheus_client", "pydantic", "cryptography", "rich"}
    assert never & asked == set()


TOPIC = "/admin/v2/persistent/public/default/x"


@pytest.mark.parametrize("value", ["Bearer a.b.c", "Basic bWU6c2VjcmV0", ""])
@pytest.mark.parametrize("path", ["/admin/v2/tenants", "/admin/v2/brokers/health", "/nowhere"])
async def test_where_nobody_is_asked_credentials_are_not_looked_at(world, path, value):
    answer = await world.ask("GET", path, Authorization=value)
    assert answer.status == (404 if path == "/nowhere" else 200)


@pytest.mark.parametrize(
    ("request_", "status", "words"),
    [
        (("GET", "/admin/v2/zzz", None, {}), 404, "/admin/v2/zzz"),
        (("PUT", "/admin/v2/schemas/public/default/x", None, {}), 404, "docs/admin.md"),
        (("DELETE", "/admin/v2/tenants", None, {}), 405, "GET,HEAD,OPTIONS"),
        (("POST", f"{TOPIC}/stats", None, {}), 405, "GET,HEAD,OPTIONS"),
        (("PUT", "/admin/v2/tenants/t", b"{}", {"Content-Type": "text/plain"}), 415, "text/plain"),
        (("PUT", "/admin/v2/tenants/t", b"{}", {"Content-Type": None}), 415, "application/json"),
        (("PUT", "/admin/v2/tenants/t", b"{}", {"Content-Encoding": "gzip"}), 415, "as it is"),
        (("POST", f"{TOPIC}/subscription/s/skip/abc", None, {}), 404, "'abc'"),
        (("POST", f"{TOPIC}/subscription/s/skip/1_0", None, {}), 404, "'1_0'"),
        (("POST", f"{TOPIC}/subscription/s/skip/%D9%A3", None, {}), 404, "%D9%A3"),
        (("POST", f"{TOPIC}/subscription/s/skip/{2**31}", None, {}), 404, str(2**31)),
        (("POST", f"{TOPIC}/subscription/s/resetcursor/{2**63}", None, {}), 404, str(2**63)),
        (("PUT", f"{TOPIC}/partitions", b'"1.5"', {}), 400, "1.5"),
        (("PUT", f"{TOPIC}/partitions", b'"1_0"', {}), 400, "1_0"),
        (("PUT", f"{TOPIC}/partitions", b"", {}), 400, "cannot be empty"),
        (("PUT", f"{TOPIC}/partitions", b"{", {}), 400, "not JSON"),
        (("GET", "/admin/v2/namespaces/public/default/topics?mode=FOO", None, {}), 404, "FOO"),
        (("GET", "/admin/v2/brokers/health?topicVersion=V9", None, {}), 404, "V9"),
        (("GET", "/lookup/v2/topic/foo/public/default/x", None, {}), 404, "foo"),
        (("GET", "/admin/v2/tenants", None, {"Accept": "text/plain"}), 406, "Accept"),
    ],
)
async def test_every_refusal_has_a_reason_in_json(world, request_, status, words):
    method, path, body, headers = request_
    for accept in ("application/json", "*/*"):
        answer = await world.ask(method, path, body, **{"Accept": accept, **headers})
        assert (answer.status, answer.content_type) == (status, "application/json")
        assert words in answer.reason
