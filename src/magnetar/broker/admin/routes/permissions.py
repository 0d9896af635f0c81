"""Permissions: what roles may do in a namespace, on a topic, with a subscription."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import unquote_plus

from magnetar.auth.access import Access
from magnetar.auth.authorization import AuthAction
from magnetar.broker.admin.routes.namespaces import existing
from magnetar.broker.admin.services import RecordServices
from magnetar.broker.authorization.permissions import TopicGrant, actions_in, mode_in
from magnetar.errors import InvalidName, InvalidValue, NamespaceNotFound, TopicNotFound
from magnetar.model import jackson
from magnetar.model.names import NON_PERSISTENT, PERSISTENT, TopicName
from magnetar.model.policy_values import AuthPolicies, SubscriptionAuthMode
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Route

T = TypeVar("T")


async def _auth(admin: RecordServices, request: Request) -> AuthPolicies:
    return (await existing(admin.resources, request)).policies.auth or AuthPolicies()


async def of_namespace(admin: RecordServices, request: Request) -> Reply:
    return shown((await _auth(admin, request)).namespace)


async def grant(admin: RecordServices, request: Request) -> Reply:
    actions = _actions(request)
    try:
        await admin.permissions.grant(arguments.namespace(request), _role(request), actions)
    except NamespaceNotFound:
        raise NamespaceNotFound("Topic's namespace does not exist") from None
    return done()


async def revoke(admin: RecordServices, request: Request) -> Reply:
    await admin.permissions.revoke(arguments.namespace(request), _role(request))
    return done()


async def of_subscriptions(admin: RecordServices, request: Request) -> Reply:
    return shown((await _auth(admin, request)).subscriptions)


async def grant_subscription(admin: RecordServices, request: Request) -> Reply:
    roles = arguments.string_list(arguments.body(request), "The body")
    if roles is None:
        raise Rejection(400, "Roles should not be null")
    await admin.permissions.grant_subscription(
        arguments.namespace(request), arguments.subscription(request), roles
    )
    return done()


async def revoke_subscription(admin: RecordServices, request: Request) -> Reply:
    await admin.permissions.revoke_subscription(
        arguments.namespace(request), arguments.subscription(request), _role(request)
    )
    return done()


async def of_topic(admin: RecordServices, request: Request) -> Reply:
    """What is granted on a topic, with what its namespace grants on all."""
    topic = arguments.topic(request)
    await _require_topic(admin, topic)
    auth = await _auth(admin, request)
    granted = {role: list(actions) for role, actions in auth.namespace.items()}
    for role, actions in auth.topics.get(str(topic), {}).items():
        more = granted.setdefault(role, [])
        more += [action for action in actions if action not in more]
    return shown(granted)


async def grant_on_topic(admin: RecordServices, request: Request) -> Reply:
    topic, actions = arguments.topic(request), _actions(request)
    await _require_topic(admin, topic)
    await admin.permissions.grant_on_topics([TopicGrant(topic, _role(request), actions)])
    return done()


async def revoke_on_topic(admin: RecordServices, request: Request) -> Reply:
    """Also on its partitions, of which one may have been granted by itself."""
    topic = arguments.topic(request)
    await _require_topic(admin, topic)
    names = [topic, *await admin.owners.access.partitions(topic)]
    await admin.permissions.revoke_on_topics([TopicGrant(each, _role(request)) for each in names])
    return done()


async def grant_on_topics(admin: RecordServices, request: Request) -> Reply:
    """On several topics of one namespace at once; its tenant is in the body."""
    grants = await _grants(admin, request)
    await admin.permissions.grant_on_topics(grants)
    return done()


async def revoke_on_topics(admin: RecordServices, request: Request) -> Reply:
    grants = await _grants(admin, request)
    await admin.permissions.revoke_on_topics(grants)
    return done()


async def subscription_auth_mode(admin: RecordServices, request: Request) -> Reply:
    mode = (await existing(admin.resources, request)).policies.subscription_auth_mode
    return shown(mode or SubscriptionAuthMode.NONE)


async def set_subscription_auth_mode(admin: RecordServices, request: Request) -> Reply:
    namespace, sent = arguments.namespace(request), arguments.body(request)
    mode = None if sent is None else _in_words(mode_in, sent)
    await admin.policies.change(namespace, subscription_auth_mode=mode)
    return done()


def _role(request: Request) -> str:
    return unquote_plus(request.segments["role"])


def _actions(request: Request) -> tuple[AuthAction, ...]:
    sent = arguments.body(request)
    if sent is None:
        raise Rejection(400, "Actions should not be null")
    return _in_words(actions_in, sent)


def _in_words(read: Callable[[Any], T], sent: Any) -> T:
    try:
        return read(sent)
    except InvalidValue as error:
        raise Rejection(400, str(error)) from None


async def _require_topic(admin: RecordServices, topic: TopicName) -> None:
    if not await admin.resources.partitions(topic) and not await admin.owners.access.exists(topic):
        raise TopicNotFound(f"Topic {topic} not found")


async def _grants(admin: RecordServices, request: Request) -> list[TopicGrant]:
    """What a body asks for, by a role that may: an admin of the tenant of its topics."""
    sent = arguments.body(request)
    if not isinstance(sent, list) or not sent:
        raise Rejection(400, "Send a list of topics, each with its role, and actions to grant")
    taking = request.path.endswith("/revokePermissionsOnTopics")
    grants = [_grant(each, taking=taking) for each in sent]
    if len({grant.topic.namespace for grant in grants}) > 1:
        raise Rejection(400, "The namespace should be the same")
    await admin.require(request, Access.TENANT_ADMIN, tenant=grants[0].topic.tenant)
    for grant in grants:
        await _require_topic(admin, grant.topic)
    return grants


def _grant(sent: Any, *, taking: bool) -> TopicGrant:
    if not isinstance(sent, Mapping):
        raise Rejection(400, f"A permission is an object, not {json.dumps(sent)[:200]}")
    topic, role = (arguments.read(jackson.text, sent.get(key), key) for key in ("topic", "role"))
    if topic is None or role is None:
        raise Rejection(400, f"A permission has a topic and a role: {json.dumps(sent)[:200]}")
    try:
        name = TopicName.parse(topic)
    except InvalidName as error:
        raise Rejection(412, f"Topic name is not valid: {error}") from None
    return TopicGrant(name, role, () if taking else _in_words(actions_in, sent.get("actions")))


def _on_topics(domain: str) -> Iterator[Route]:
    path = f"/admin/v2/{domain}/{{tenant}}/{{namespace}}/{{topic}}/permissions"
    yield Route("GET", path, of_topic, Access.TENANT_ADMIN)
    one = f"{path}/{{role}}"
    yield Route("POST", one, grant_on_topic, Access.TENANT_ADMIN, takes=(JSON,))
    yield Route("DELETE", one, revoke_on_topic, Access.TENANT_ADMIN)


_ALL: Final = "/admin/v2/namespaces"
_ONE: Final = f"{_ALL}/{{tenant}}/{{namespace}}"
_PERMISSIONS: Final = f"{_ONE}/permissions"
SERVICES: Final = RecordServices
ROUTES: Final = (
    *(
        Route(method, path, handler, Access.TENANT_ADMIN, takes=(JSON,) * (method == "POST"))
        for method, path, handler in (
            ("GET", _PERMISSIONS, of_namespace),
            ("POST", f"{_PERMISSIONS}/{{role}}", grant),
            ("DELETE", f"{_PERMISSIONS}/{{role}}", revoke),
            ("GET", f"{_PERMISSIONS}/subscription", of_subscriptions),
            ("POST", f"{_PERMISSIONS}/subscription/{{subscription}}", grant_subscription),
            ("DELETE", f"{_PERMISSIONS}/{{subscription}}/{{role}}", revoke_subscription),
            ("GET", f"{_ONE}/subscriptionAuthMode", subscription_auth_mode),
            ("POST", f"{_ONE}/subscriptionAuthMode", set_subscription_auth_mode),
        )
    ),
    *_on_topics(PERSISTENT),
    *_on_topics(NON_PERSISTENT),
    # Their tenant is in the body, so that the handler asks whether the role administers it.
    *(
        Route("POST", f"{_ALL}/{name}", handler, Access.AUTHENTICATED, takes=(JSON,))
        for name, handler in (
            ("grantPermissionsOnTopics", grant_on_topics),
            ("revokePermissionsOnTopics", revoke_on_topics),
        )
    ),
)
