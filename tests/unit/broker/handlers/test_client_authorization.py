from types import SimpleNamespace

import pytest

from magnetar.auth.authorization import AuthorizationRules
from magnetar.broker.authorization.authorization_service import AuthorizationService
from magnetar.broker.authorization.permissions import Permissions
from magnetar.broker.handlers.client_authorization import OFF, ClientAuthorization
from magnetar.broker.resources import Resources
from magnetar.errors import NotAuthorized, TopicNotFound
from magnetar.model.names import NamespaceName, TopicName
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.metadata.memory import MemoryMetadataStore

NAMESPACE = NamespaceName("public", "default")
TOPIC = TopicName.parse("persistent://public/default/t")
MISSING = TopicName.parse("persistent://who/default/t")


def client(role, proxy_role=None):
    return SimpleNamespace(role=role, proxy_role=proxy_role)


@pytest.fixture
async def authorization():
    resources = Resources(MemoryMetadataStore(), codec=JsonCodec())
    await resources.ensure_defaults("standalone", "http://a", "pulsar://a")
    permissions = Permissions(resources)
    await permissions.grant(NAMESPACE, "writer", ("produce",))
    await permissions.grant(NAMESPACE, "reader", ("consume",))
    await permissions.grant(NAMESPACE, "both", ("produce", "consume"))
    await permissions.grant_subscription(NAMESPACE, "audit", ["reader"])
    rules = AuthorizationRules(frozenset({"root"}))
    yield ClientAuthorization(AuthorizationService(rules, resources))
    resources.close()


async def refusals(authorization, role, topic=TOPIC, proxy=None):
    """What a role is told when it asks for everything."""
    session, told = client(role, proxy), []
    for asked in (
        authorization.lookup(session, topic),
        authorization.partitions(session, topic),
        authorization.produce(session, topic, ""),
        authorization.produce(session, topic, "audit"),
        authorization.consume(session, topic, "s"),
        authorization.consume(session, topic, "audit"),
        authorization.add_schema(session, topic),
        authorization.list_topics(session, topic.namespace),
        authorization.watch_topics(session, topic.namespace),
    ):
        try:
            await asked
        except TopicNotFound as error:
            told.append(str(error))
        except NotAuthorized as error:
            what, _, who = str(error).partition(" not authorized to ")[2].partition(": ")
            told.append(what)
            assert ("a client without a role" if role is None else repr(role)) in who
            assert ("through the proxy" in who) is (proxy is not None)
            assert str(topic.namespace) in who
    return told


EVERYTHING = [
    "Lookup",
    "Get Partition Metadata",
    "Produce",
    "Produce",
    "subscribe",
    "subscribe",
    "GetOrCreateSchema",
    "GetTopicsOfNamespace",
    "watchTopicList",
]


@pytest.mark.parametrize(
    ("role", "refused"),
    [
        ("root", []),
        ("writer", ["Produce", "subscribe", "subscribe"]),
        ("reader", ["Produce", "Produce", "GetOrCreateSchema"]),
        ("both", ["Produce", "subscribe"]),
        ("nobody", EVERYTHING),
        (None, EVERYTHING),
    ],
)
async def test_a_role_is_told_what_it_may_not(authorization, role, refused):
    assert await refusals(authorization, role) == refused


async def test_a_proxy_needs_the_permission_too(authorization):
    assert await refusals(authorization, "root", proxy="nobody") == EVERYTHING


async def test_that_a_tenant_is_missing_is_told_to_who_asks_for_partitions(authorization):
    told = "Tenant or namespace or topic does not exist: who/default"
    assert await refusals(authorization, "writer", MISSING) == [
        told if each == "Get Partition Metadata" else each for each in EVERYTHING
    ]
    elsewhere = TopicName.parse("persistent://public/none/t")
    assert await refusals(authorization, "writer", elsewhere) == EVERYTHING
    assert await refusals(authorization, "root", MISSING) == []


async def test_nobody_is_asked_where_authorization_is_off():
    assert await refusals(OFF, None) == []
