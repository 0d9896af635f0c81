"""Keys that say of themselves that they are base64 and are not, as other clients may send them."""

import asyncio

import pytest
from support.chunks import Publisher

from magnetar import InitialPosition, SubscriptionType

KEYS = ["abc", "key!", "caf\u00e9"]


@pytest.mark.one_broker
async def test_the_application_gets_them_as_they_came(broker, client, topic):
    publisher = await Publisher.open(broker.service_url, topic)
    for key in KEYS:
        await publisher.publish("m", partition_key=key, partition_key_b64_encoded=True)
    await publisher.publish("m", partition_key="AP8=", partition_key_b64_encoded=True)
    await publisher.close()
    consumer = await client.subscribe(
        topic,
        "s",
        type=SubscriptionType.KEY_SHARED,
        initial_position=InitialPosition.EARLIEST,
    )
    async with asyncio.timeout(20):
        found = [await consumer.receive() for _ in range(len(KEYS) + 1)]
    assert {each.key_bytes for each in found} == {*(key.encode() for key in KEYS), b"\x00\xff"}
    assert {each.key for each in found} == {*KEYS, "AP8="}
