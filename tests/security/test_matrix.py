"""Every operation, asked by every kind of role: what is expected was written down by hand.

A route, or a command, that is not in its table fails: somebody has to say who may have it.
"""

import asyncio
import json
import re
from itertools import product
from pathlib import Path

import aiohttp
import pytest
from support.issuers import Issuers
from support.tokens import TAKES_TOKENS, token
from unit.broker.admin.world import open_world
from unit.broker.peer import Peer

from magnetar.auth.access import Access
from magnetar.auth.authorization import AuthorizationRules, Principal
from magnetar.auth.refusals import refusal
from magnetar.auth.tenant_roles import TenantRoles
from magnetar.broker.admin.route_authorization import RouteAuthorization
from magnetar.broker.admin.routes.table import ROUTES
from magnetar.broker.authorization.authorization_service import AuthorizationService
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Request
from magnetar.rest.router import Router, Routes
from magnetar.testing.local_broker import LocalBroker

SHOP = "acme/shop"
ORDERS = "persistent://acme/shop/orders"
AUDIT = "audit"  # The subscription that is the auditor's alone.

OF_ISSUER = "boss@acme"  # A role that the tenant's own issuer gives, an admin there.
MASTERS = {"root", "boss"}
ADMINS = MASTERS | {OF_ISSUER}
NAMESPACE_READERS = ADMINS | {"reader", "auditor"}
TOPIC_READERS = NAMESPACE_READERS | {"topic-reader"}
EVERYBODY = TOPIC_READERS | {
    *("other-boss", "writer", "topic-writer", "elsewhere-writer"),
    *("coder", "sourcer", "sinker", "packer", "anonymous", "nobody"),
    *("boss@elsewhere", "root@acme"),  # Trusted by others than those whose issuers give them.
}
MAY = {
    "public": EVERYBODY,
    "anybody": EVERYBODY,
    "superuser": {"root"},
    "admin": ADMINS,
    "sees namespace": NAMESPACE_READERS | {"writer"},
    "consumes namespace": NAMESPACE_READERS,
    "sees topic": TOPIC_READERS | {"writer", "topic-writer"},
    "produces": ADMINS | {"writer", "topic-writer"},
    "consumes": TOPIC_READERS,
    f"consumes {AUDIT}": ADMINS | {"auditor"},
    "functions": MASTERS | {"coder"},
    "sources": MASTERS | {"sourcer"},
    "sinks": MASTERS | {"sinker"},
    "packages": MASTERS | {"packer"},
}
"""The roles that have what a heading of routes.txt says."""

OWN = "own"  # It is about what SUBSCRIBE or PRODUCER let the client have, and nothing else.
ABSENT = "absent"  # It is done for nobody.
TRANSACTIONS = "test_transactions.py"  # That asks.
COMMANDS = {
    "CONNECT": OWN,
    "PING": OWN,
    "PONG": OWN,
    "AUTH_RESPONSE": OWN,
    "LOOKUP": "sees topic",
    "PARTITIONED_METADATA": "sees topic",
    "GET_TOPICS_OF_NAMESPACE": "sees namespace",
    "WATCH_TOPIC_LIST": "sees namespace",
    "WATCH_TOPIC_LIST_CLOSE": OWN,
    "PRODUCER": "produces",
    "SEND": OWN,
    "CLOSE_PRODUCER": OWN,
    "SUBSCRIBE": "consumes",
    "FLOW": OWN,
    "ACK": OWN,
    "REDELIVER_UNACKNOWLEDGED_MESSAGES": OWN,
    "UNSUBSCRIBE": OWN,
    "SEEK": OWN,
    "CLOSE_CONSUMER": OWN,
    "GET_LAST_MESSAGE_ID": OWN,
    "CONSUMER_STATS": OWN,
    "GET_SCHEMA": "sees topic",
    "GET_OR_CREATE_SCHEMA": "produces",
    "TC_CLIENT_CONNECT_REQUEST": TRANSACTIONS,
    "NEW_TXN": TRANSACTIONS,
    "ADD_PARTITION_TO_TXN": TRANSACTIONS,
    "ADD_SUBSCRIPTION_TO_TXN": TRANSACTIONS,
    "END_TXN": TRANSACTIONS,
    "END_TXN_ON_PARTITION": ABSENT,
    "END_TXN_ON_SUBSCRIPTION": ABSENT,
}


def written():
    """Who may have each route, by method and path, as routes.txt has it."""
    found, who = {}, ""
    for line in (Path(__file__).parent / "routes.txt").read_text().splitlines():
        if line.startswith("["):
            who = line[1:-1]
        elif line and not line.startswith("#"):
            *methods, path = line.split()
            both = [path.replace("(non-)", domain) for domain in ("", "non-")]
            for method, each in product(methods, both if "(non-)" in path else [path]):
                assert (method, each) not in found, f"{method} {each} is there twice"
                found[method, each] = who
    return found


TABLE = written()


def concrete(path, subscription=AUDIT):
    """The path of something that there is."""
    names = {"tenant": "acme", "namespace": "shop", "topic": "orders", "domain": "persistent"}
    names |= {"subscription": subscription}
    return re.sub(r"\{(\w+)\}", lambda match: names.get(match[1], "1"), path)


OF_SHOP = {
    "namespace_auth": {
        "writer": ["produce"],
        "reader": ["consume"],
        "auditor": ["consume"],
        "coder": ["functions"],
        "sourcer": ["sources"],
        "sinker": ["sinks"],
        "packer": ["packages"],
        "boss@elsewhere": ["produce", "consume", "functions"],
        OF_ISSUER: ["functions", "sources", "sinks", "packages"],
    },
    "destination_auth": {
        topic: {"topic-writer": ["produce"], "topic-reader": ["consume"]}
        for topic in (ORDERS, f"non-{ORDERS}")
    },
    "subscription_auth_roles": {AUDIT: ["auditor"]},
}
OF_ELSEWHERE = {"namespace_auth": {"elsewhere-writer": ["produce", "consume", "functions"]}}


async def grant(ask):
    """Let an administrator grant what the roles of EVERYBODY have."""
    for tenant, admins, granted in (
        ("acme", ["boss", OF_ISSUER, "boss@elsewhere"], OF_SHOP),
        ("elsewhere", ["other-boss", "root@acme"], OF_ELSEWHERE),
    ):
        made = {"adminRoles": admins, "allowedClusters": ["standalone"]}
        await ask("PUT", f"/admin/v2/tenants/{tenant}", made)
        await ask("PUT", f"/admin/v2/namespaces/{tenant}/shop", {"auth_policies": granted})


def test_every_route_is_in_the_table_and_no_other():
    routes = {(route.method, route.path) for route in ROUTES}
    assert routes - TABLE.keys() == set(), "say in routes.txt who may have these"
    assert TABLE.keys() - routes == set(), "take these out of routes.txt"


async def test_every_route_is_for_whom_the_table_says():
    async with open_world() as world:
        await grant(world.ask)
        issuers = TenantRoles(["acme", "elsewhere"])
        rules = AuthorizationRules(frozenset({"root", "root@acme"}), tenant_roles=issuers)
        check = RouteAuthorization(AuthorizationService(rules, world.resources)).check
        router = Router(Routes(ROUTES), world.admin, authorize=check)
        wrong = []
        for (method, path), who in TABLE.items():
            for subscription in (AUDIT, "free") if "{subscription}" in path else ("",):
                listed = who == "consumes" and subscription == AUDIT
                may = MAY[f"consumes {AUDIT}" if listed else who]
                for role in EVERYBODY:
                    verb = "GET" if method == "*" else method
                    request = Request(verb, concrete(path, subscription), role=role)
                    allowed = await has(router, request)
                    if allowed is not (role in may):
                        wrong.append((role, method, path, subscription, allowed))
        assert wrong == []


async def has(router, request):
    route = await router.find(request)
    try:
        await router.authorize(route, request)
    except Rejection as refused:
        return None if refused.status not in (401, 403) else False
    return True


LESS_EXACT = "Unauthorized to validateBothSuperuserAnd"  # Ours just asks for a superuser.
OTHER_WORDS = {
    # It takes this for the name of a bundle.
    ("DELETE", "/admin/v2/namespaces/{tenant}/{namespace}/encryptionRequired"),
    ("GET", "/admin/v2/non-persistent/{tenant}/{namespace}/{topic}/partitioned-stats"),
}


def test_nobody_is_refused_as_pulsar_refuses():
    """refusals.jsonl is what a live Pulsar 4.0.7 answered to a role without any permission."""
    lines = (Path(__file__).parent / "refusals.jsonl").read_text().splitlines()
    accesses = {(route.method, route.path): route.access for route in ROUTES}
    assert len(lines) > 390
    wrong = []
    for recorded in map(json.loads, lines):
        method, path = recorded["method"], recorded["path"]
        access = accesses[method, path]
        if "{tenant}" not in path:
            access = Access.SUPERUSER
        place = "acme/shop" if "{namespace}" in path else "acme"
        if "{topic}" in path:
            place = f"non-{ORDERS}" if "/non-persistent/" in path else ORDERS
        ours = refusal(Principal("nobody"), access, method, path, place)
        same = ours.reason == recorded["reason"] or (method, path) in OTHER_WORDS
        if ours.status != recorded["status"] or not (
            same or recorded["reason"].startswith(LESS_EXACT)
        ):
            wrong.append((method, path, recorded["reason"], *ours))
    assert wrong == []


@pytest.fixture
def issuers(tmp_path):
    return Issuers(tmp_path, "acme", "elsewhere")


@pytest.fixture
async def broker(issuers):
    settings = {
        **TAKES_TOKENS,
        "tenantTokenIssuers": str(issuers.file),
        "authorizationEnabled": "true",
        "superUserRoles": "root",
        "anonymousUserRole": "anonymous",
    }
    async with LocalBroker(settings=settings) as broker:
        yield broker


async def test_wrong_credentials_have_no_route_but_what_is_public(broker):
    shown = [token("root", life_s=-60), token("root") + "x", token("root", key=b"x" * 32), "x"]
    async with aiohttp.ClientSession(broker.web_url) as http:

        async def status(index, method, path):
            headers = {"Authorization": f"Bearer {shown[index % len(shown)]}"}
            verb = "GET" if method == "*" else method
            async with http.request(verb, concrete(path), headers=headers) as answer:
                return answer.status

        rows = [row for row, who in TABLE.items() if who != "public"]
        found = await asyncio.gather(*(status(index, *row) for index, row in enumerate(rows)))
    assert [row for row, status in zip(rows, found, strict=True) if status != 401] == []


async def test_every_command_is_in_the_table_and_no_other(broker):
    rows = broker.broker._table._rows.values()
    assert {row.name for row in rows} == COMMANDS.keys()


SCHEMA = pb.Schema(name="s", type=pb.Schema.String, schema_data=b"")
ASKED = {
    "LOOKUP": ("lookupTopic", {"topic": ORDERS}),
    "PARTITIONED_METADATA": ("partitionMetadata", {"topic": ORDERS}),
    "GET_TOPICS_OF_NAMESPACE": ("getTopicsOfNamespace", {"namespace": SHOP}),
    "WATCH_TOPIC_LIST": (
        "watchTopicList",
        {"namespace": SHOP, "watcher_id": 1, "topics_pattern": f"{ORDERS}.*"},
    ),
    "PRODUCER": ("producer", {"topic": ORDERS, "producer_id": 1}),
    "SUBSCRIBE": (
        "subscribe",
        {"topic": ORDERS, "subscription": "free", "consumer_id": 1, "subType": 1},
    ),
    "GET_SCHEMA": ("getSchema", {"topic": ORDERS}),
    "GET_OR_CREATE_SCHEMA": ("getOrCreateSchema", {"topic": ORDERS, "schema": SCHEMA}),
}
INITIAL = {"topic": ORDERS, "producer_id": 2, "initial_subscription_name": AUDIT}
LISTED = {"topic": ORDERS, "subscription": AUDIT, "consumer_id": 2, "subType": 1}


async def refuses(peer, field, values, request_id):
    """Whether a command is refused for what the role may not do."""
    base = await peer.ask(field, request_id=request_id, **values)
    answer = getattr(base, next(one.name for one, _ in base.ListFields() if one.name != "type"))
    fields = answer.DESCRIPTOR.fields_by_name
    name = "error_code" if "error_code" in fields else "error"
    if name not in fields or not answer.HasField(name):
        return False
    refused = getattr(answer, name) == pb.AuthorizationError
    assert refused == ("not authorized to" in str(answer)), answer
    return refused


async def connected(broker, issuers, role):
    peer = await Peer.open(broker.port, protocol_version=None)
    subject, at, tenant = role.partition("@")
    given = issuers.token(tenant, subject) if at else token(role)
    shown = {} if role == "anonymous" else {"auth_data": given.encode()}
    method = "none" if role == "anonymous" else "token"
    answer = await peer.ask(
        "connect", client_version="t", protocol_version=21, auth_method_name=method, **shown
    )
    assert answer.HasField("connected")
    return peer


async def test_every_command_is_for_whom_the_table_says(broker, issuers):
    assert ASKED.keys() == {name for name, who in COMMANDS.items() if who in MAY}
    shown = {"Authorization": f"Bearer {token('root')}"}
    async with aiohttp.ClientSession(broker.web_url, headers=shown) as http:

        async def ask(method, path, body):
            async with http.request(method, path, json=body) as answer:
                assert answer.status == 204

        await grant(ask)
    asked = [(COMMANDS[name], *ASKED[name]) for name in ASKED]
    asked += [("produces and consumes audit", "producer", INITIAL)]
    asked += [(f"consumes {AUDIT}", "subscribe", LISTED)]
    may = {**MAY, "produces and consumes audit": ADMINS}
    wrong = []
    for role in sorted(EVERYBODY, key=lambda role: role != "root"):  # The first makes the topic.
        peer = await connected(broker, issuers, role)
        for request_id, (who, field, values) in enumerate(asked):
            refused = await refuses(peer, field, values, request_id)
            if refused is (role in may[who]):
                wrong.append((role, field, values, refused))
        peer.wire.close()
    assert wrong == []
