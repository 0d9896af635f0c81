import pytest
from unit.broker.admin.world import open_world

from magnetar.auth.access import Access
from magnetar.auth.authorization import AuthorizationRules
from magnetar.broker.admin.route_authorization import RouteAuthorization
from magnetar.broker.authorization.authorization_service import AuthorizationService
from magnetar.errors import TenantNotFound
from magnetar.model.names import NamespaceName
from magnetar.model.policy_records import NamespacePolicies
from magnetar.model.records import TenantInfo
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Request, done
from magnetar.rest.router import ANY_METHOD, Route, Router, Routes

TOPIC = "/{domain}/{tenant}/{namespace}/{topic}"


async def handle(_services, _request):
    return done()


ROUTES = (
    Route(ANY_METHOD, "/functions/{tenant}/{namespace}", handle, access=Access.FUNCTIONS),
    Route(ANY_METHOD, "/functions", handle),
    Route("GET", "/public", handle, access=Access.PUBLIC),
    Route("GET", "/anybody", handle, access=Access.AUTHENTICATED),
    Route("GET", "/none", handle),
    Route("GET", "/odd", handle, access=Access.TENANT_ADMIN),
    Route("GET", "/tenants/{tenant}", handle, access=Access.TENANT_ADMIN),
    Route("GET", "/topics/{tenant}/{namespace}", handle, access=Access.NAMESPACE_TOPICS),
    Route("GET", f"/lookup{TOPIC}", handle, access=Access.LOOKUP),
    Route("GET", f"/peek{TOPIC}/subscription/{{subscription}}", handle, access=Access.CONSUME),
)


@pytest.fixture
async def world():
    async with open_world() as opened:
        await opened.resources.create_tenant("acme", TenantInfo(["boss"], ["standalone"]))
        name = NamespaceName("acme", "shop")
        await opened.resources.create_namespace(name, NamespacePolicies.fresh("standalone"))
        permissions = opened.admin.records.permissions
        await permissions.grant(name, "reader", ("consume",))
        await permissions.grant(name, "coder", ("functions",))
        await permissions.grant_subscription(name, "a/b", ["boss"])
        yield opened


@pytest.fixture
def ask(world):
    rules = AuthorizationRules(frozenset({"root"}))
    authorization = RouteAuthorization(AuthorizationService(rules, world.resources))
    router = Router(Routes(ROUTES), world.admin, authorize=authorization.check)

    async def status(role, path, proxy=None):
        try:
            answer = await router.answer(Request("GET", path, role=role, proxy_role=proxy))
        except Rejection as refused:
            return refused.reply().status
        return answer.status

    return status


PEEK = "/peek/persistent/acme/shop/t/subscription"


@pytest.mark.parametrize(
    ("path", "may", "may_not"),
    [
        ("/public", ["nobody", None], []),
        ("/anybody", ["nobody"], []),
        ("/none", ["root"], ["boss", "nobody", None]),
        ("/odd", ["root"], ["boss"]),
        ("/tenants/acme", ["root", "boss"], ["reader", None]),
        ("/topics/acme/shop", ["boss", "reader"], ["coder", "nobody"]),
        ("/lookup/persistent/acme/shop/t", ["boss", "reader"], ["coder"]),
        (f"{PEEK}/mine", ["boss", "reader"], ["coder"]),
        (f"{PEEK}/a%2Fb", ["boss"], ["reader"]),
        (f"{PEEK}/a%252Fb", ["boss"], ["reader"]),
        ("/functions/acme/shop", ["boss", "coder"], ["reader"]),
        ("/functions/acme/shop/f/status", ["boss", "coder"], ["reader"]),
        ("/functions", ["root"], ["boss", "coder"]),
        ("/functions/acme", ["root"], ["boss", "coder"]),
    ],
)
async def test_a_route_asks_for_its_access(ask, path, may, may_not):
    assert [await ask(role, path) for role in may] == [204] * len(may)
    assert {await ask(role, path) for role in may_not} <= {401, 403}


@pytest.mark.parametrize("path", ["/functions/acme/shop/../../x", "/functions/acme/shop/%2e%2E/x"])
async def test_a_path_that_climbs_is_refused(ask, path):
    assert await ask("root", path) == 400


async def test_a_role_may_no_more_than_its_proxy(ask):
    assert await ask("boss", "/tenants/acme", "root") == 204
    assert await ask("boss", "/tenants/acme", "reader") == 401
    assert await ask("root", "/none", "boss") == 401


async def test_a_tenant_that_is_missing_is_named(ask):
    with pytest.raises(TenantNotFound, match="Tenant does not exist"):
        await ask("boss", "/tenants/who")


async def test_a_handler_may_ask_for_what_only_it_knows(world):
    rules = AuthorizationRules(frozenset({"root"}))
    authorization = RouteAuthorization(AuthorizationService(rules, world.resources))
    await authorization.require(
        Request("GET", "/", role="boss"), Access.TENANT_ADMIN, tenant="acme"
    )
    for access in (Access.TENANT_ADMIN, Access.SUPERUSER):
        with pytest.raises(Rejection):
            await authorization.require(Request("GET", "/", role="bob"), access, tenant="acme")
