import pytest

from magnetar.auth.access import Access
from magnetar.auth.authorization import AuthorizationRules, Principal
from magnetar.broker.authorization.authorization_service import AuthorizationService
from magnetar.broker.authorization.permissions import Permissions, TopicGrant
from magnetar.broker.resources import Resources
from magnetar.errors import NotAuthorized, TenantNotFound
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.policy_records import NamespacePolicies
from magnetar.model.policy_values import SubscriptionAuthMode
from magnetar.model.records import TenantInfo
from magnetar.model.system_topics import change_events
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.metadata.memory import MemoryMetadataStore

ORDERS = TopicName.parse("persistent://acme/shop/orders")
ELSEWHERE = TopicName.parse("persistent://acme/nope/orders")
ROOT, BOSS, BOB = Principal("root"), Principal("boss"), Principal("bob")


@pytest.fixture
async def resources():
    opened = Resources(MemoryMetadataStore(), codec=JsonCodec())
    await opened.ensure_defaults("standalone", "http://a", "pulsar://a")
    await opened.create_tenant("acme", TenantInfo(["boss"], ["standalone"]))
    await opened.create_namespace(ORDERS.namespace, NamespacePolicies.fresh("standalone"))
    yield opened
    opened.close()


@pytest.fixture
def service(resources):
    return AuthorizationService(AuthorizationRules(frozenset({"root"})), resources)


async def test_a_change_holds_from_the_next_question_on(resources, service):
    permissions = Permissions(resources)
    assert not await service.allows(BOB, Access.PRODUCE, topic=ORDERS)
    await permissions.grant_on_topics([TopicGrant(ORDERS, "bob", ("produce",))])
    assert await service.allows(BOB, Access.PRODUCE, topic=ORDERS)
    assert await service.allows(BOB, Access.LOOKUP, topic=ORDERS.partition(2))
    await permissions.revoke_on_topics([TopicGrant(ORDERS, "bob")])
    assert not await service.allows(BOB, Access.PRODUCE, topic=ORDERS)
    await resources.update_tenant("acme", TenantInfo(["bob"], ["standalone"]))
    assert await service.allows(BOB, Access.TENANT_ADMIN, tenant="acme")
    assert not await service.allows(BOSS, Access.TENANT_ADMIN, tenant="acme")


@pytest.mark.parametrize("access", [Access.PRODUCE, Access.CONSUME])
async def test_policies_of_topics_are_read_and_written_as_messages_by_superusers_alone(
    service, access
):
    for name in (change_events(ORDERS.namespace), change_events(ORDERS.namespace).partition(1)):
        assert await service.allows(ROOT, access, topic=name)
        assert not await service.allows(BOSS, access, topic=name)
    assert await service.allows(BOSS, access, topic=ORDERS)


async def test_a_namespace_that_is_missing_grants_nothing(service):
    assert not await service.allows(BOB, Access.PRODUCE, topic=ELSEWHERE)
    assert await service.allows(BOSS, Access.PRODUCE, topic=ELSEWHERE)
    missing = NamespaceName("acme", "nope")
    assert not await service.allows(BOB, Access.NAMESPACE_TOPICS, namespace=missing)


@pytest.mark.parametrize("tenant", ["who", ""])
async def test_only_a_superuser_does_not_hear_that_a_tenant_is_missing(service, tenant):
    assert await service.allows(ROOT, Access.TENANT_ADMIN, tenant=tenant)
    assert not await service.allows(BOB, Access.SUPERUSER, tenant=tenant)
    with pytest.raises(TenantNotFound, match="Tenant does not exist"):
        await service.allows(BOB, Access.TENANT_ADMIN, tenant=tenant)


async def test_a_name_without_its_role_is_explained(resources, service):
    await Permissions(resources).grant(ORDERS.namespace, "bob", ("consume",))
    mode = SubscriptionAuthMode.PREFIX
    await resources.change_policies(ORDERS.namespace, lambda _: {"subscription_auth_mode": mode})
    assert await service.allows(BOB, Access.CONSUME, topic=ORDERS, subscription="bob-1")
    assert await service.allows(BOSS, Access.CONSUME, topic=ORDERS, subscription="x")
    with pytest.raises(NotAuthorized, match="like bob-xxxx for topic: persistent://acme/shop/"):
        await service.allows(BOB, Access.CONSUME, topic=ORDERS, subscription="x")
