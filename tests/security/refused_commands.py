"""Commands that a broker refuses, sent one by one: what it answers, and whether it hangs up."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
from support.tokens import SECRET, TAKES_TOKENS, token
from unit.broker.peer import Peer

from magnetar.errors import TimedOut
from magnetar.proto import PulsarApi_pb2 as pb

SETTINGS = {
    **TAKES_TOKENS,
    "authorizationEnabled": "true",
    "superUserRoles": "root",
    "authenticationRefreshCheckSeconds": "1",
}
ORDERS = "persistent://acme/shop/orders"
NO_NAMESPACE = "persistent://acme/none/orders"
NO_TENANT = "persistent://none/shop/orders"
JAVA = "Pulsar-Java-v4.0.7"
STRING = pb.Schema(name="s", type=pb.Schema.String, schema_data=b"")
WAIT_S = 5.0
FIRST = pb.MessageIdData(ledgerId=0, entryId=0)

WRONG = {
    "no credentials": {"auth_method_name": "none"},
    "no method": {},
    "another method": {"auth_method_name": "basic", "auth_data": b"root:root"},
    "an unknown method": {"auth_method_name": "athenz", "auth_data": b"x"},
    "an empty token": {"auth_method_name": "token", "auth_data": b""},
    "no token": {"auth_method_name": "token", "auth_data": b"rubbish"},
    "a token of another key": {
        "auth_method_name": "token",
        "auth_data": token("root", key=b"x" * 32).encode(),
    },
    "a token that has ended": {
        "auth_method_name": "token",
        "auth_data": token("root", key=SECRET, exp=1_600_000_000).encode(),
    },
    "a token of nobody": {"auth_method_name": "token", "auth_data": token("").encode()},
    "for another": {
        "auth_method_name": "token",
        "auth_data": token("nobody").encode(),
        "original_principal": "root",
    },
    "as a proxy": {
        "auth_method_name": "token",
        "auth_data": token("nobody").encode(),
        "original_principal": "root",
        "proxy_version": "4.0.7",
    },
}
"""What CONNECT shows, by what is wrong with it."""


def subscribe(topic: str, **more: Any) -> tuple[str, dict[str, Any]]:
    named = {"topic": topic, "subscription": "s", "consumer_id": 1, "subType": 0, "request_id": 1}
    return "subscribe", named | more


def about(topic: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """What names a topic, or the namespace of one."""
    namespace = "/".join(topic.split("/")[2:4])
    return {
        "LOOKUP": ("lookupTopic", {"topic": topic, "request_id": 1}),
        "PARTITIONED_METADATA": ("partitionMetadata", {"topic": topic, "request_id": 1}),
        "PRODUCER": ("producer", {"topic": topic, "producer_id": 1, "request_id": 1}),
        "PRODUCER with an initial subscription": (
            "producer",
            {
                "topic": topic,
                "producer_id": 1,
                "request_id": 1,
                "initial_subscription_name": "s",
            },
        ),
        "SUBSCRIBE": subscribe(topic),
        "GET_TOPICS_OF_NAMESPACE": (
            "getTopicsOfNamespace",
            {"namespace": namespace, "request_id": 1},
        ),
        "WATCH_TOPIC_LIST": (
            "watchTopicList",
            {
                "namespace": namespace,
                "request_id": 1,
                "watcher_id": 1,
                "topics_pattern": f"{topic}.*",
            },
        ),
        "GET_SCHEMA": ("getSchema", {"topic": topic, "request_id": 1}),
        "GET_OR_CREATE_SCHEMA": (
            "getOrCreateSchema",
            {"topic": topic, "request_id": 1, "schema": STRING},
        ),
    }


OF_NOTHING = {
    "UNSUBSCRIBE": ("unsubscribe", {"consumer_id": 7, "request_id": 1}),
    "SEEK": ("seek", {"consumer_id": 7, "request_id": 1, "message_id": FIRST}),
    "CONSUMER_STATS": ("consumerStats", {"consumer_id": 7, "request_id": 1}),
    "GET_LAST_MESSAGE_ID": ("getLastMessageId", {"consumer_id": 7, "request_id": 1}),
    "CLOSE_CONSUMER": ("close_consumer", {"consumer_id": 7, "request_id": 1}),
    "CLOSE_PRODUCER": ("close_producer", {"producer_id": 7, "request_id": 1}),
}
"""What names a producer or consumer, where SUBSCRIBE and PRODUCER were refused."""


RENEWED = {
    "a token of the same role": "reader",
    "a token of another role": "writer",
    "a token of a superuser": "root",
    "a token of another key": None,
}
"""Whose token is shown to a broker that asks the role ``reader`` for a new one."""


async def converse(
    port: int, web_url: str, *, life_s: float, expire: Callable[[], Awaitable[None]]
) -> list[dict[str, Any]]:
    """Ask everything, of a broker with SETTINGS. Each answer as ``said`` has it.

    ``expire`` lets as much time pass as tokens live that have an end.
    """
    await _grant(web_url)
    return [*await _asks(port), *await _renewals(port, life_s, expire)]


async def _asks(port: int) -> list[dict[str, Any]]:
    found = []
    for what, shown in WRONG.items():
        peer = await Peer.open(port, protocol_version=None)
        peer.tell("connect", client_version=JAVA, protocol_version=21, **shown)
        found.append({"command": "CONNECT", "case": what, **await said(peer)})
    for case, topic in (
        ("a role without permissions", ORDERS),
        ("in no namespace", NO_NAMESPACE),
        ("in no tenant", NO_TENANT),
    ):
        for name, (field, values) in about(topic).items():
            found.append({"command": name, "case": case, **await _asked(port, field, values)})
    for name, (field, values) in OF_NOTHING.items():
        case = "of what it does not have"
        found.append({"command": name, "case": case, **await _asked(port, field, values)})
    for role in ("reader", "writer"):
        for name, (field, values) in about(ORDERS).items():
            case = f"a role that may {'consume' if role == 'reader' else 'produce'}"
            found.append({"command": name, "case": case, **await _asked(port, field, values, role)})
    for case, shown in (
        ("nobody asked, the same role", token("reader").encode()),
        ("nobody asked, another role", token("writer").encode()),
        ("nobody asked, a wrong token", token("reader", key=b"x" * 32).encode()),
    ):
        answer = await _asked(port, "authResponse", _response(shown), "reader")
        found.append({"command": "AUTH_RESPONSE", "case": case, **answer})
    return found


async def _renewals(
    port: int, life_s: float, expire: Callable[[], Awaitable[None]]
) -> list[dict[str, Any]]:
    """What a client hears that shows each of RENEWED when it is asked."""
    peers = [await _signed_in(port, token("reader", life_s=life_s)) for _ in RENEWED]
    await expire()

    async def renewed(peer: Peer, case: str, role: str | None) -> dict[str, Any]:
        challenge = await peer.hear(10.0)
        assert challenge.HasField("authChallenge"), challenge
        shown = token("reader", key=b"x" * 32) if role is None else token(role)
        peer.tell("authResponse", **_response(shown.encode()))
        answer = await said(peer, 0.5 if role == "reader" else WAIT_S)
        return {"command": "AUTH_RESPONSE", "case": f"asked for one, {case}", **answer}

    pairs = zip(peers, RENEWED.items(), strict=True)
    return list(await asyncio.gather(*(renewed(peer, *each) for peer, each in pairs)))


def _response(shown: bytes) -> dict[str, Any]:
    response = pb.AuthData(auth_method_name="token", auth_data=shown)
    return {"client_version": JAVA, "protocol_version": 21, "response": response}


async def said(peer: Peer, wait_s: float = WAIT_S) -> dict[str, Any]:
    """The answer, its error where it has one, and whether the connection stays.

    ``wait_s`` is how long a command without an answer is waited for.
    """
    answer: dict[str, Any] = {"answer": "nothing"}
    try:
        base = await peer.hear(wait_s)
    except (AssertionError, TimedOut):
        base = None
    if base is not None:
        name = next(one.name for one, _ in base.ListFields() if one.name != "type")
        inner = getattr(base, name)
        answer = {"answer": name, **_error(inner)}
    peer.tell("ping")
    try:
        pong = await peer.wire.receive(WAIT_S)
    except TimedOut:
        return {**answer, "stays": "silent"}
    finally:
        peer.wire.close()
    return {**answer, "stays": pong is not None}


def _error(inner: Any) -> dict[str, str]:
    fields = inner.DESCRIPTOR.fields_by_name
    code = "error_code" if "error_code" in fields else "error"
    if code not in fields or not inner.HasField(code):
        return {}
    text = inner.error_message if code == "error_code" else inner.message
    text = re.sub(r"(localhost|127\.0\.0\.1|\[?/[\d.:]+)(:\d+)?", "ADDRESS", text)
    return {"error": pb.ServerError.Name(getattr(inner, code)), "message": text}


async def _asked(
    port: int, field: str, values: dict[str, Any], role: str = "nobody"
) -> dict[str, Any]:
    peer = await _signed_in(port, token(role))
    peer.tell(field, **values)
    return await said(peer)


async def _signed_in(port: int, shown: str) -> Peer:
    peer = await Peer.open(port, protocol_version=None)
    flags = pb.FeatureFlags(supports_auth_refresh=True)
    values = {"auth_method_name": "token", "auth_data": shown.encode(), "feature_flags": flags}
    answer = await peer.ask("connect", client_version=JAVA, protocol_version=21, **values)
    assert answer.HasField("connected"), answer
    return peer


async def _grant(web_url: str) -> None:
    """Make a tenant, a namespace and a topic, and let two roles use it."""
    shown = {"Authorization": f"Bearer {token('root')}"}
    asked: list[tuple[str, str, Any]] = [
        ("PUT", "tenants/acme", {"adminRoles": ["boss"], "allowedClusters": ["standalone"]}),
        ("PUT", "namespaces/acme/shop", {}),
        ("PUT", "persistent/acme/shop/orders", {}),
        ("POST", "namespaces/acme/shop/permissions/reader", ["consume"]),
        ("POST", "namespaces/acme/shop/permissions/writer", ["produce"]),
    ]
    async with aiohttp.ClientSession(f"{web_url}/admin/v2/", headers=shown) as http:
        for method, path, body in asked:
            async with http.request(method, path, json=body) as answer:
                assert answer.status in (204, 409), (path, answer.status, await answer.text())
