"""A broker that asks who its clients are, and the functions worker beside it."""

import json
import ssl
from pathlib import Path

import aiohttp
from support.certificates import Authority
from support.tokens import TAKES_TOKENS, token

from magnetar.testing.local_broker import LocalBroker

CLIENTS = "org.apache.pulsar.client.impl.auth"


async def test_the_worker_signs_in_by_tls_and_answers_nobody_but_its_broker(tmp_path):
    (tmp_path / "worker.token").write_text(token("worker"))
    authority = Authority(tmp_path)
    certificate, key = authority.issue("broker")
    settings = TAKES_TOKENS | {
        "authorizationEnabled": "true",
        "superUserRoles": "worker,admin",
        "functionsWorkerEnabled": "true",
        "brokerServicePort": -1,
        "webServicePort": -1,
        "brokerServicePortTls": 0,
        "webServicePortTls": 0,
        "advertisedAddress": "localhost",
        "tlsCertificateFilePath": certificate,
        "tlsKeyFilePath": key,
        "brokerClientTlsEnabled": "true",
        "brokerClientTrustCertsFilePath": authority.file,
        "brokerClientAuthenticationPlugin": f"{CLIENTS}.AuthenticationToken",
        "brokerClientAuthenticationParameters": f"file://{tmp_path}/worker.token",
    }
    path = "/admin/v3/functions/public/default"
    shown = {"Authorization": f"Bearer {token('admin')}"}
    async with LocalBroker(tmp_path / "data", settings=settings) as broker:
        url = f"https://localhost:{broker.broker.web_port_tls}"
        connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=authority.file))
        async with aiohttp.ClientSession(url, connector=connector) as session:
            async with session.get(path) as refused:
                assert refused.status == 401
            async with session.get(path, headers=shown) as answer:
                assert (answer.status, await answer.json()) == (200, [])
            await _only_who_may_has_code_run(session, shown)
        folder = tmp_path / "data" / "functions"
        ready = json.loads((folder / "worker.ready").read_text())
        async with aiohttp.ClientSession(f"http://127.0.0.1:{ready['port']}") as session:
            for headers in ({}, shown):
                async with session.get(path, headers=headers) as refused:
                    assert refused.status == 401
        assert token("worker") not in (folder / "worker.log").read_text()
        said = "".join(map(told, ("cmdline", "environ"), [ready["pid"]] * 2))
        assert token("worker") not in said


async def _only_who_may_has_code_run(session, admin):
    """Functions are for those who have the permission in their namespace, and no other route."""
    one = "/admin/v3/functions/public/default"

    async def status(role, method="GET", path=one):
        shown = {"Authorization": f"Bearer {token(role)}"}
        async with session.request(method, path, headers=shown) as answer:
            return answer.status

    for role, action in (("coder", "functions"), ("writer", "produce")):
        path = f"/admin/v2/namespaces/public/default/permissions/{role}"
        await session.post(path, json=[action], headers=admin)
    assert await status("coder") == 200
    for role in ("writer", "nobody"):
        assert await status(role) == await status(role, "POST", f"{one}/f") == 401
    for path in ("/admin/v3/functions/pulsar/system", "/admin/v2/worker/cluster"):
        assert await status("coder", path=path) == 401


def told(what, pid):
    """What the system tells anybody, or the owner, of a process."""
    file = Path(f"/proc/{pid}/{what}")
    return file.read_text() if file.exists() else ""
