"""Whatever way a path is written, a tenant's administrator stays in the tenant."""

import asyncio
import re

import pytest
from support.tokens import TAKES_TOKENS, token
from unit.broker.admin.world import open_world

from magnetar.auth.authorization import AuthorizationRules
from magnetar.auth.tenant_roles import TenantRoles
from magnetar.broker.admin.route_authorization import RouteAuthorization
from magnetar.broker.admin.routes.table import ROUTES
from magnetar.broker.authorization.authorization_service import AuthorizationService
from magnetar.errors import MagnetarError
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Request
from magnetar.rest.router import Router, Routes
from magnetar.testing.local_broker import LocalBroker

OTHERS = [
    *("victim", "%76ictim", "%2576ictim", "acme%2F..%2Fvictim", "acme/../victim", "./victim"),
    *("victim%20", "+victim", "Victim", "victim;x=1", "victim%00", "victim%2F", "%2e%2e/victim"),
    *("acme%40victim", "victim@acme", "%EF%BD%96ictim"),
]
"""Ways to write a tenant that is another's, or that there is not."""
NAMES = {"namespace": "n", "topic": "t", "domain": "persistent", "subscription": "s"}


def written(path, tenant):
    path = path.replace("{tenant}", tenant)
    return re.sub(r"\{(\w+)\}", lambda match: NAMES.get(match[1], "1"), path)


async def test_no_way_to_write_a_path_leads_into_another_tenant():
    async with open_world() as world:
        for tenant, admins in (("acme", ["boss", "boss@acme"]), ("victim", ["boss@acme"])):
            made = {"adminRoles": admins, "allowedClusters": ["standalone"]}
            await world.ask("PUT", f"/admin/v2/tenants/{tenant}", made)
            await world.ask("PUT", f"/admin/v2/namespaces/{tenant}/n", {})
        rules = AuthorizationRules(frozenset({"root"}), tenant_roles=TenantRoles(["acme"]))
        check = RouteAuthorization(AuthorizationService(rules, world.resources)).check
        router = Router(Routes(ROUTES), world.admin, authorize=check)
        found, own = [], 0
        for route in ROUTES:
            if "{tenant}" not in route.path:
                continue
            method = "GET" if route.method == "*" else route.method
            for role in ("boss", "boss@acme"):
                for tenant in OTHERS:
                    request = Request(method, written(route.path, tenant), role=role)
                    if await allowed(router, request):
                        found.append((role, method, request.path))
                own += await allowed(
                    router, Request(method, written(route.path, "acme"), role=role)
                )
        assert found == []
        assert own > 250, "they may do something at home"


async def allowed(router, request):
    """Whether a route was found, and is for the role."""
    try:
        route = await router.find(request)
        await router.authorize(route, request)
    except (Rejection, MagnetarError):
        return False
    return True


@pytest.mark.parametrize("name", ["Authorization", "X-Original-Principal"])
async def test_what_says_who_asks_is_said_once(name):
    """A proxy that adds its header behind one of its client would have two."""
    settings = {
        **TAKES_TOKENS,
        "authorizationEnabled": "true",
        "superUserRoles": "root,proxy",
        "proxyRoles": "proxy",
    }
    head = "GET /admin/v2/tenants HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    shown = f"Authorization: Bearer {token('proxy')}\r\nX-Original-Principal: root\r\n"
    async with LocalBroker(settings=settings) as broker:

        async def answer(text):
            reader, writer = await asyncio.open_connection("127.0.0.1", broker.web_port)
            writer.write(text.encode())
            said = await reader.read()
            writer.close()
            return said

        assert b" 200 OK" in await answer(f"{head}{shown}\r\n")
        twice = await answer(f"{head}{shown}{name.lower()}: nobody\r\n\r\n")
        assert b" 400 Bad Request" in twice
        assert f"{name} is there more than once".encode() in twice
