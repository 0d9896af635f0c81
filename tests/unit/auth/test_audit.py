import json
import logging

import aiohttp
import pytest
from support.clock import ManualClock
from support.tokens import TAKES_TOKENS, token

from magnetar import AuthenticationToken, Client
from magnetar.auth.audit import BODY_BYTES_MAX, AuditLog
from magnetar.errors import AccessError, InvalidValue
from magnetar.testing.local_broker import LocalBroker

SETTINGS = {**TAKES_TOKENS, "authorizationEnabled": "true", "superUserRoles": "root"}


async def ask(broker, method, path, body=None, *, credentials):
    headers = {"Authorization": f"Bearer {credentials}", "Content-Type": "application/json"}
    url = f"{broker.web_url}/admin/v2/{path}"
    async with aiohttp.request(method, url, json=body, headers=headers) as answer:
        return answer.status


def noted(file):
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert all(line.pop("time").endswith("Z") for line in lines)
    assert {line.pop("address") for line in lines} == {"127.0.0.1"}
    return lines


async def test_who_created_granted_and_deleted_is_found(tmp_path):
    file = tmp_path / "audit.log"
    async with LocalBroker(settings={**SETTINGS, "auditLogFile": str(file)}) as broker:
        root, guest = token("root"), token("guest")
        namespace = "namespaces/public/shop"
        grant = f"{namespace}/permissions/clerk"
        assert await ask(broker, "PUT", namespace, credentials=root) == 204
        assert await ask(broker, "POST", grant, ["produce"], credentials=root) == 204
        assert await ask(broker, "GET", namespace, credentials=root) == 200
        assert await ask(broker, "DELETE", namespace, credentials=guest) in (401, 403)
        assert await ask(broker, "DELETE", namespace, credentials=root) == 204
    created, granted, refused, deleted = noted(file)
    asked = {"event": "request", "role": "root", "status": 204}
    assert created == {**asked, "method": "PUT", "path": f"/admin/v2/{namespace}"}
    assert granted == {
        **asked, "method": "POST", "path": f"/admin/v2/{grant}", "body": '["produce"]'
    }  # fmt: skip
    assert (refused["role"], refused["method"]) == ("guest", "DELETE")
    assert refused["status"] in (401, 403)
    assert deleted == {**asked, "method": "DELETE", "path": f"/admin/v2/{namespace}"}


async def test_sign_ins_that_fail_are_logged_and_noted(tmp_path, caplog):
    file = tmp_path / "audit.log"
    async with LocalBroker(settings={**SETTINGS, "auditLogFile": str(file)}) as broker:
        authentication = AuthenticationToken("no token")
        async with Client(broker.service_url, authentication=authentication) as client:
            with pytest.raises(AccessError):
                await client.create_producer("persistent://public/default/t")
        assert await ask(broker, "GET", "tenants", credentials="nor this") == 401
        async with aiohttp.request("GET", f"{broker.web_url}/admin/v2/tenants") as answer:
            assert answer.status == 401
    by_protocol, by_http = noted(file)
    assert (by_protocol["event"], by_protocol["method"]) == ("sign_in_failed", "token")
    assert (by_http["event"], by_http["role"]) == ("sign_in_failed", None)
    assert by_protocol["error"]
    said = [each for each in caplog.records if "authentication.refused" in each.message]
    assert [each.levelno for each in said] == [logging.WARNING] * 2
    assert said[0].message.startswith(
        "authentication.refused address=127.0.0.1 method=token error="
    )


def test_a_file_that_was_moved_away_is_begun_anew(tmp_path):
    file = tmp_path / "audit.log"
    audit = AuditLog(file, ManualClock())
    audit.refused("token", "127.0.0.1", "expired")
    file.rename(tmp_path / "audit.log.1")
    audit.refused("token", "127.0.0.1", "expired")
    audit.close()
    assert len(noted(file)) == len(noted(tmp_path / "audit.log.1")) == 1


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(InvalidValue, match=r"auditLogFile='.*none/audit.log' cannot be written"):
        AuditLog(tmp_path / "none" / "audit.log", ManualClock())


def test_of_a_long_body_the_beginning_is_kept(tmp_path):
    audit = AuditLog(tmp_path / "audit.log", ManualClock())
    body = b"a" * (BODY_BYTES_MAX + 1)
    path = "/admin/v2/tenants/acme"
    audit.requested("PUT", path, 204, role="r", proxy_role="p", address="127.0.0.1", body=body)
    audit.close()
    [line] = noted(tmp_path / "audit.log")
    assert line["body"] == "a" * BODY_BYTES_MAX
    [stored] = (tmp_path / "audit.log").read_text().splitlines()
    assert json.loads(stored)["time"] == "1970-01-01T00:16:40.000Z", "what the clock says"
    assert line["proxyRole"] == "p"
