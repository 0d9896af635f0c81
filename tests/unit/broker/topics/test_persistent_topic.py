"""A topic as a whole."""

import asyncio

import pytest

from magnetar.errors import (
    TopicClosed,
)
from magnetar.model.subscriptions import SubscriptionType

EXCLUSIVE = SubscriptionType.EXCLUSIVE


async def test_closing_answers_what_was_sent_and_tells_everybody(
    bench, client_end, make_entry, make_run
):
    end, _, _ = await bench.consumer(EXCLUSIVE)
    sender = client_end()
    producer = await bench.topic.attach_producer(sender, 5, "p")
    producer.publish(make_run(make_entry("a")))
    await bench.topic.close()
    assert [sent[0] for sent in sender.sent] == ["receipts", "close_producer"]
    assert end.sent[-1] == ("close_consumer", 1)
    with pytest.raises(TopicClosed):
        await bench.consumer(EXCLUSIVE)


async def test_nobody_subscribes_to_a_topic_that_closes_meanwhile(bench):
    joining = asyncio.ensure_future(bench.consumer(EXCLUSIVE))
    await asyncio.sleep(0)
    await bench.topic.close()
    with pytest.raises(TopicClosed):
        await joining
