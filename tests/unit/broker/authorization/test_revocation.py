import pytest
from support.clock import ManualClock
from support.loop import until, until_idle
from unit.broker.admin.world import SilentEnd, open_world

from magnetar.auth.authorization import AuthorizationRules
from magnetar.broker.authorization.authorization_service import AuthorizationService
from magnetar.broker.authorization.revocation import Revocation
from magnetar.broker.topics.subscriptions.consumer import SubscribeRequest
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.policy_values import SubscriptionAuthMode
from magnetar.model.records import TenantInfo
from magnetar.model.subscriptions import SubscriptionType
from magnetar.tasks import Tasks

NAMESPACE = NamespaceName("public", "default")
TOPIC = TopicName.parse("persistent://public/default/t")
OTHER = NamespaceName("public", "other")
INTERVAL_S = 60.0


class Client(SilentEnd):
    """A client of a role, which may have a producer, a consumer and a watcher."""

    def __init__(self, role):
        super().__init__()
        self.role, self.proxy_role = role, None
        self.watchers = None
        self.ended = []

    async def produce(self, topic):
        await topic.attach_producer(self, 1, self.role)

    async def consume(self, topic, subscription="s"):
        request = SubscribeRequest(
            subscription=subscription, type=SubscriptionType.SHARED, consumer_id=2
        )
        await topic.subscribe(request, self)

    def watch(self, namespace):
        self.watchers = {3: Watcher(self.ended, namespace)}


class Watcher:
    def __init__(self, ended, namespace):
        self.namespace = namespace
        self._ended = ended

    def end(self):
        self._ended.append(self.namespace)


@pytest.fixture
async def world():
    async with open_world() as opened:
        yield opened


@pytest.fixture
def clients():
    return []


@pytest.fixture
async def clock(world, clients):
    """That of a revocation, which runs."""
    clock, tasks = ManualClock(), Tasks("test")
    rules = AuthorizationRules(frozenset({"root"}))
    revocation = Revocation(
        AuthorizationService(rules, world.resources),
        world.resources,
        topics=world.registry.loaded,
        sessions=lambda: clients,
        clock=clock,
        tasks=tasks,
        interval_s=INTERVAL_S,
    )
    tasks.spawn("revocation", revocation.run())
    await clock.until_asleep()
    yield clock
    revocation.close()
    await tasks.close()


BOTH = [("producer", 1), ("consumer", 2)]


async def attached(world, role, subscription="s"):
    client, topic = Client(role), await world.topic(str(TOPIC))
    await client.produce(topic)
    await client.consume(topic, subscription)
    return client


@pytest.mark.usefixtures("clock")
async def test_what_is_revoked_is_closed_at_once_and_nothing_else(world):
    permissions = world.admin.records.permissions
    for role in ("bob", "eve"):
        await permissions.grant(NAMESPACE, role, ("produce", "consume"))
    bob, eve, root = [await attached(world, role) for role in ("bob", "eve", "root")]
    await permissions.grant(NAMESPACE, "bob", ("produce",))
    await until(lambda: bob.closed)
    assert bob.closed == [("consumer", 2)]
    await permissions.revoke(NAMESPACE, "bob")
    await until(lambda: len(bob.closed) > 1)
    topic = await world.topic(str(TOPIC))
    assert set(topic.producers) == {"eve", "root"}
    assert len(topic.subscriptions["s"].consumers) == 2
    assert bob.closed == [("consumer", 2), ("producer", 1)]
    assert eve.closed == root.closed == []


@pytest.mark.usefixtures("clock")
async def test_an_admin_of_a_tenant_who_is_none_any_more_goes(world):
    await world.resources.update_tenant("public", TenantInfo(["boss"], ["standalone"]))
    boss = await attached(world, "boss")
    await world.resources.update_tenant("public", TenantInfo(["chief"], ["standalone"]))
    await until(lambda: len(boss.closed) == 2)
    assert boss.closed == BOTH


@pytest.mark.usefixtures("clock")
async def test_a_subscription_that_others_get_is_left(world):
    permissions = world.admin.records.permissions
    await permissions.grant(NAMESPACE, "bob", ("produce", "consume"))
    mine, audit = await attached(world, "bob", "mine"), Client("bob")
    await audit.consume(await world.topic(str(TOPIC)), "audit")
    await permissions.grant_subscription(NAMESPACE, "audit", ["eve"])
    await until(lambda: audit.closed)
    assert mine.closed == []
    prefix = SubscriptionAuthMode.PREFIX
    await world.admin.records.policies.change(NAMESPACE, subscription_auth_mode=prefix)
    await until(lambda: mine.closed)
    assert mine.closed == [("consumer", 2)]


async def test_whoever_slipped_in_is_found_later(world, clients, clock):
    """As one who was let in while the permission went."""
    bob = await attached(world, "bob")
    bob.watch(NAMESPACE)
    clients.append(bob)
    await clock.advance(INTERVAL_S - 1)
    assert bob.closed == []
    await clock.advance(1)
    assert (bob.closed, bob.ended) == (BOTH, [NAMESPACE])


@pytest.mark.usefixtures("clock")
async def test_who_watches_a_namespace_is_told_no_more(world, clients):
    permissions = world.admin.records.permissions
    await permissions.grant(NAMESPACE, "bob", ("consume",))
    bob, eve = Client("bob"), Client("eve")
    bob.watch(NAMESPACE)
    eve.watch(OTHER)  # She may not, but nothing of that namespace has changed.
    clients += [bob, eve]
    await permissions.grant(NAMESPACE, "who", ("consume",))
    await until_idle()
    assert bob.ended == []
    await permissions.revoke(NAMESPACE, "bob")
    await until(lambda: bob.ended)
    assert (bob.ended, eve.ended) == ([NAMESPACE], [])
