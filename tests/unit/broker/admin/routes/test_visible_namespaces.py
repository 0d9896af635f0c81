import json

import pytest
from unit.broker.admin.world import open_world

from magnetar.auth.authorization import AuthorizationRules
from magnetar.broker.admin.route_authorization import RouteAuthorization
from magnetar.broker.admin.routes.rights import visible_namespaces
from magnetar.broker.authorization.authorization_service import AuthorizationService
from magnetar.model.names import NamespaceName
from magnetar.model.policy_records import NamespacePolicies
from magnetar.model.records import TenantInfo
from magnetar.rest.exchange import Request

PATH = "/admin/v2/magnetar/namespaces"


@pytest.fixture
async def world():
    async with open_world() as opened:
        await opened.resources.create_tenant("acme", TenantInfo(["boss"], ["standalone"]))
        for name in ("shop", "lab"):
            await opened.resources.create_namespace(
                NamespaceName("acme", name), NamespacePolicies.fresh("standalone")
            )
        await opened.admin.records.permissions.grant(
            NamespaceName("acme", "shop"), "reader", ("consume",)
        )
        yield opened


async def test_without_authorization_everybody_sees_everything(world):
    found = (await world.ask("GET", PATH)).json
    assert found["all"] is True
    assert {"acme", "public", "pulsar"} <= set(found["tenants"])
    assert {"acme/lab", "acme/shop", "public/default"} <= set(found["namespaces"])


@pytest.mark.parametrize(
    ("role", "tenants", "namespaces"),
    [
        ("boss", ["acme"], ["acme/lab", "acme/shop"]),
        ("reader", [], ["acme/shop"]),
        ("nobody", [], []),
    ],
)
async def test_each_role_sees_where_it_has_a_right(world, role, tenants, namespaces):
    rules = AuthorizationRules(frozenset({"root"}))
    world.admin.broker.authorization = RouteAuthorization(
        AuthorizationService(rules, world.resources)
    )
    found = json.loads(
        (await visible_namespaces(world.admin.broker, Request("GET", PATH, role=role))).body
    )
    assert found == {"all": False, "tenants": tenants, "namespaces": namespaces}
    found = json.loads(
        (await visible_namespaces(world.admin.broker, Request("GET", PATH, role="root"))).body
    )
    assert found["all"] is True
