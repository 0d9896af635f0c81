"""Producers come and go."""

import asyncio

import pytest

from magnetar.errors import (
    ProducerBusy,
)
from magnetar.model.subscriptions import SubscriptionType

EXCLUSIVE = SubscriptionType.EXCLUSIVE


async def test_a_name_is_made_up_and_is_unique(bench, client_end):
    one = await bench.topic.attach_producer(client_end(), 1, None)
    two = await bench.topic.attach_producer(client_end(), 1, None)
    assert one.name != two.name


async def test_a_name_in_use_is_refused_while_its_holder_lives(bench, client_end):
    end = client_end()
    await bench.topic.attach_producer(end, 1, "p")
    with pytest.raises(ProducerBusy, match="'p' is already connected to topic 'persistent://"):
        await bench.topic.attach_producer(client_end(), 1, "p")
    end.lives = False
    newcomer = await bench.topic.attach_producer(client_end(), 1, "p")
    assert bench.topic.producers["p"] is newcomer


async def test_of_two_who_wait_for_the_name_of_a_dead_producer_one_gets_it(bench, client_end):
    dying, one, other = client_end(), client_end(), client_end()
    dying.lives = False
    dying.answers.clear()
    await bench.topic.attach_producer(dying, 1, "p")
    first = asyncio.ensure_future(bench.topic.attach_producer(one, 1, "p"))
    second = asyncio.ensure_future(bench.topic.attach_producer(other, 1, "p"))
    await dying.asked.wait()
    await asyncio.sleep(0)
    dying.answers.set()
    winner = await first
    with pytest.raises(ProducerBusy):
        await second
    assert bench.topic.producers["p"] is winner


async def test_a_producer_that_comes_back_with_a_higher_epoch_takes_its_own_place(
    bench, client_end
):
    end = client_end()
    await bench.topic.attach_producer(end, 1, "p", epoch=0)
    with pytest.raises(ProducerBusy):
        await bench.topic.attach_producer(end, 2, "p", epoch=5)
    with pytest.raises(ProducerBusy):
        await bench.topic.attach_producer(end, 1, "p", epoch=0)
    again = await bench.topic.attach_producer(end, 1, "p", epoch=1)
    assert bench.topic.producers["p"] is again


async def test_a_producer_closes_when_all_it_sent_is_answered(
    bench, client_end, make_entry, make_run
):
    end = client_end()
    producer = await bench.topic.attach_producer(end, 1, "p")
    await bench.publish("warm")
    for text in "abc":
        producer.publish(make_run(make_entry(text)))
    await producer.close()
    assert sum(sent[2] for sent in end.sent if sent[0] == "receipts") == 3
    assert "p" not in bench.topic.producers
