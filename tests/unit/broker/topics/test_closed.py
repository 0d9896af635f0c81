"""What is closed goes with its last user, and does not wait for a garbage collection."""

import gc

import aiohttp
import pytest
from support.loop import until

from magnetar import Client, SubscriptionType
from magnetar.broker.topics.persistent_topic import PersistentTopic
from magnetar.broker.topics.subscriptions.dispatch_loop import DispatchLoop
from magnetar.broker.topics.subscriptions.persistent_subscription import PersistentSubscription
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.testing.local_broker import LocalBroker


@pytest.fixture
def there():
    """Whether there is anything of some kinds; what other tests left does not count."""
    gc.collect()
    gc.disable()
    left = gc.get_objects()  # Held until the end, so that nothing new gets one of their ids.
    before = set(map(id, left))
    yield lambda *kinds: any(
        isinstance(each, kinds) and id(each) not in before for each in gc.get_objects()
    )
    gc.enable()


@pytest.mark.parametrize("kind", SubscriptionType)
async def test_dispatch_goes_with_its_last_consumer(kind, there):
    async with LocalBroker() as broker, Client(broker.service_url) as client:
        producer = await client.create_producer("a")
        async with await client.subscribe("a", "s", type=kind) as consumer:
            await producer.send(b"")
            consumer.acknowledge(await consumer.receive())
            assert there(DispatchLoop)
        await until(lambda: not there(DispatchLoop))


async def test_a_subscription_goes_when_its_reader_does(there):
    async with LocalBroker() as broker, Client(broker.service_url) as client:
        async with await client.create_reader("a"):
            assert there(PersistentSubscription)
        await until(lambda: not there(PersistentSubscription, Cursor))


@pytest.mark.parametrize("way", ["unload", "delete"])
async def test_a_topic_goes_when_it_is_unloaded_or_deleted(way, there):
    async with LocalBroker() as broker, aiohttp.ClientSession() as http:
        async with Client(broker.service_url) as client:
            async with await client.subscribe("a", "s"), await client.create_producer("a") as its:
                await its.send(b"")
            assert there(PersistentTopic)
        url = f"{broker.web_url}/admin/v2/persistent/public/default/a"
        if way == "unload":
            answer = await http.put(f"{url}/unload")
        else:
            answer = await http.delete(url, params={"force": "true"})
        assert answer.status == 204
        await until(lambda: not there(PersistentTopic, PersistentSubscription, ManagedLedger))
