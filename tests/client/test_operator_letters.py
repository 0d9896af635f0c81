"""Dead letters go back to where they came from, and messages come once more, on a real broker."""

import asyncio

import pytest
from support.admin import ask
from support.clock import ManualClock

from magnetar.client.client import Client
from magnetar.client.consumers.dead_letter_policy import DeadLetterPolicy
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.schemas import StringSchema
from magnetar.testing.local_broker import LocalBroker

ALL = "persistent/public/default"
DLQ = "orders-billing-DLQ"


@pytest.fixture
async def broker(request):
    async with LocalBroker(clock=getattr(request, "param", None)) as local:
        yield local


@pytest.fixture
async def client(broker):
    async with Client(broker.service_url) as connected:
        yield connected


@pytest.fixture
async def letters(broker, client):
    """Six orders, of which the odd ones are dead."""
    producer = await client.create_producer("orders", schema=StringSchema())
    policy = DeadLetterPolicy(1, initial_subscription_name="kept")
    consumer = await client.subscribe(
        "orders",
        "billing",
        schema=StringSchema(),
        type=SubscriptionType.SHARED,
        dead_letter_policy=policy,
        negative_ack_delay_s=0.0,
    )
    for number in range(6):
        await producer.send(f"order {number}", key=f"k{number}", properties={"n": str(number)})
    for _ in range(9):  # Each odd one comes twice.
        message = await consumer.receive()
        if int(message.properties["n"]) % 2 == 0:
            await consumer.acknowledge(message)
        else:
            consumer.negative_acknowledge(message)
    while await backlog(broker, DLQ, "kept") < 3:
        pass
    await consumer.close()


async def asked(broker, method, path, value=None):
    return await asyncio.to_thread(ask, broker, method, f"{ALL}/{path}", value)


async def backlog(broker, topic, subscription):
    try:
        stats = await asked(broker, "GET", f"{topic}/stats")
    except OSError:  # It is not there yet.
        return 0
    return stats["subscriptions"].get(subscription, {}).get("msgBacklog", 0)


async def redriven(broker, order, topic=DLQ):
    await asked(broker, "POST", f"{topic}/redrive", order)
    while (found := await asked(broker, "GET", f"{topic}/redrive"))["status"] == "RUNNING":
        pass
    return found


@pytest.mark.usefixtures("letters")
async def test_letters_go_back_and_are_acknowledged_when_they_are_stored(broker, client):
    dry = await asked(broker, "POST", f"{DLQ}/redrive", {"dryRun": True, "filter": "n=3"})
    assert (dry["messages"], dry["complete"]) == (1, True)
    assert [each["value"] for each in dry["sample"]] == ["order 3"]
    assert await backlog(broker, DLQ, "kept") == 3
    found = await redriven(broker, {"filter": "n=3"})
    assert (found["status"], found["messages"], found["error"]) == ("SUCCESS", 1, "")
    assert found["targets"] == {"persistent://public/default/orders": 1}
    assert await backlog(broker, DLQ, "kept") == 2
    await redriven(broker, {"rate": 0})
    assert await backlog(broker, DLQ, "kept") == 0
    consumer = await client.subscribe(
        "orders", "check", schema=StringSchema(), initial_position=InitialPosition.EARLIEST
    )
    messages = [await consumer.receive() for _ in range(9)]
    assert [each.value for each in messages[6:]] == ["order 3", "order 1", "order 5"]
    again = messages[6]
    assert again.key == "k3"
    assert again.properties.keys() == {"n", "ORIGIN_MESSAGE_ID"}


@pytest.mark.usefixtures("letters")
async def test_letters_stay_where_they_cannot_go(broker):
    order = {"to": "persistent://public/default/nowhere"}
    found = await redriven(broker, order)
    assert found["messages"] == 0
    [(reason, count)] = found["skipped"].items()
    assert (count, "nowhere" in reason) == (3, True)
    found = await redriven(broker, {"to": f"persistent://public/default/{DLQ}"})
    assert "are there already" in str(found["skipped"])
    assert await backlog(broker, DLQ, "kept") == 3


@pytest.mark.usefixtures("letters")
async def test_copies_of_what_no_subscription_has_stay(broker):
    await asked(broker, "DELETE", f"{DLQ}/subscription/kept")
    found = await redriven(broker, {"count": 1})
    assert (found["messages"], found["complete"]) == (1, False)


@pytest.mark.usefixtures("letters")
async def test_letters_go_to_partitions_by_their_keys(broker):
    await asked(broker, "PUT", "parts/partitions", 3)
    found = await redriven(broker, {"to": "persistent://public/default/parts"})
    assert found["messages"] == 3
    assert all("-partition-" in name for name in found["targets"])


@pytest.mark.usefixtures("letters")
async def test_a_subscription_in_use_is_left_alone(broker, client):
    await client.subscribe(DLQ, "kept")
    with pytest.raises(OSError, match="412"):
        await asked(broker, "POST", f"{DLQ}/redrive", {})
    found = await redriven(broker, {"force": True})
    assert found["status"] == "SUCCESS"


@pytest.mark.parametrize("broker", [ManualClock()], ids=["time stands still"], indirect=True)
@pytest.mark.usefixtures("letters")
async def test_a_redrive_keeps_to_its_rate_and_is_stopped(broker):
    await asked(broker, "PUT", f"{DLQ}/subscription/another", "earliest")
    with pytest.raises(OSError, match="412"):
        await asked(broker, "POST", f"{DLQ}/redrive", {})
    await asked(broker, "POST", f"{DLQ}/redrive", {"subscription": "kept", "rate": 1})
    with pytest.raises(OSError, match="409"):
        await asked(broker, "POST", f"{DLQ}/redrive", {"subscription": "kept"})
    while (await asked(broker, "GET", f"{DLQ}/redrive"))["messages"] < 1:
        pass
    await asked(broker, "DELETE", f"{DLQ}/redrive")
    found = await asked(broker, "GET", f"{DLQ}/redrive")
    assert (found["status"], found["error"]) == ("ERROR", "It was stopped")
    assert found["messages"] == 1
    assert await backlog(broker, DLQ, "kept") == 3 - found["messages"]
    assert await backlog(broker, DLQ, "another") == 3


async def test_a_subscription_gets_what_it_acknowledged_once_more(broker, client):
    producer = await client.create_producer("seen", schema=StringSchema(), batching=False)
    consumer = await client.subscribe(
        "seen", "s", schema=StringSchema(), type=SubscriptionType.SHARED
    )
    for number in range(6):
        await producer.send(f"order {number}", properties={"colour": "rg"[number % 2]})
        await consumer.acknowledge(await consumer.receive())
    order = {"properties": {"colour": "r"}, "count": 2}
    while await backlog(broker, "seen", "s"):
        pass
    dry = await asked(broker, "POST", "seen/subscription/s/replay", {**order, "dryRun": True})
    assert (dry["entries"], dry["messages"], dry["complete"]) == (2, 2, False)
    assert [each["value"] for each in dry["sample"]] == ["order 0", "order 2"]
    assert await backlog(broker, "seen", "s") == 0
    await asked(broker, "POST", "seen/subscription/s/replay", order)
    found = [await consumer.receive() for _ in range(2)]
    assert [each.value for each in found] == ["order 0", "order 2"]
    for message in found:
        await consumer.acknowledge(message)
    await producer.send("new")
    assert (await consumer.receive()).value == "new"


@pytest.mark.parametrize(
    ("path", "order", "status"),
    [
        ("x/redrive", {"rate": 100_001}, 400),
        ("x/redrive", {"subscription": ["s"]}, 400),
        ("x/redrive", {"count": 0}, 400),
        ("x/redrive", {"to": 5}, 400),
        ("x/redrive", {"dryRun": "yes"}, 400),
        ("x/redrive", {"ttl": 5}, 400),
        ("x/redrive", {"subscription": "none"}, 404),
        ("x/redrive", {"properties": {"a": [1]}}, 412),
        ("p/redrive", {"to": 5}, 400),
        ("x/subscription/s/replay", {"count": 5_001}, 400),
        ("x/subscription/none/replay", {}, 404),
        ("p/subscription/s/replay", {"from": "1:2"}, 400),
        ("p/subscription/none/replay", {}, 404),
    ],
)
async def test_orders_that_cannot_be_meant_are_refused(broker, path, order, status):
    await asked(broker, "PUT", "x/subscription/s", "earliest")
    await asked(broker, "PUT", "p/partitions", 2)
    with pytest.raises(OSError, match=str(status)):
        await asked(broker, "POST", path, order)
