import json

import pytest
from unit.broker.admin.world import open_world

from magnetar.auth.authorization import AuthorizationRules
from magnetar.broker.admin.route_authorization import RouteAuthorization
from magnetar.broker.admin.routes.rights import get
from magnetar.broker.authorization.authorization_service import AuthorizationService
from magnetar.model.names import NamespaceName
from magnetar.model.policy_records import NamespacePolicies
from magnetar.model.records import TenantInfo
from magnetar.rest.exchange import Request

PATH = "/admin/v2/magnetar/rights"
TOPIC = "persistent://acme/shop/t"
ALL = {"superuser", "admin", "topics", "produce", "consume", "functions"}


@pytest.fixture
async def world():
    async with open_world() as opened:
        await opened.resources.create_tenant("acme", TenantInfo(["boss"], ["standalone"]))
        name = NamespaceName("acme", "shop")
        await opened.resources.create_namespace(name, NamespacePolicies.fresh("standalone"))
        await opened.admin.records.permissions.grant(name, "reader", ("consume",))
        yield opened


async def test_without_authorization_everybody_may_do_everything(world):
    answer = await world.ask("GET", PATH)
    assert answer.json == {"role": None, **dict.fromkeys(ALL, True)}


@pytest.mark.parametrize(
    ("role", "query", "allowed"),
    [
        ("root", {}, ALL),
        ("boss", {}, set()),
        ("boss", {"tenant": "acme"}, ALL - {"superuser"}),
        ("boss", {"namespace": "acme/shop"}, ALL - {"superuser"}),
        ("boss", {"topic": TOPIC}, ALL - {"superuser"}),
        ("reader", {"namespace": "acme/shop"}, {"topics"}),
        ("reader", {"topic": TOPIC}, {"topics", "consume"}),
        ("reader", {"topic": TOPIC, "subscription": "s"}, {"topics", "consume"}),
        ("reader", {"tenant": "nobody"}, set()),
    ],
)
async def test_each_role_is_told_what_it_may_at_a_place(world, role, query, allowed):
    rules = AuthorizationRules(frozenset({"root"}))
    world.admin.broker.authorization = RouteAuthorization(
        AuthorizationService(rules, world.resources)
    )
    reply = await get(world.admin.broker, Request("GET", PATH, query=query, role=role))
    told = json.loads(reply.body)
    assert told.pop("role") == role
    assert {name for name, may in told.items() if may} == allowed


@pytest.mark.parametrize("query", ["topic=a/b", "namespace=a"])
async def test_a_bad_name_is_refused(world, query):
    assert (await world.ask("GET", f"{PATH}?{query}")).status == 412
