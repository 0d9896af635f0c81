"""Our client's calls, cancelled at every step: nobody stays attached to the broker by it."""

import asyncio
from itertools import count

import aiohttp
import pytest
from support.admin import ask
from support.loop import iterations

from magnetar import LATEST_MESSAGE, Client

MAKE = {
    "producer": lambda client, topic: client.create_producer(topic),
    "consumer": lambda client, topic: client.subscribe(topic, "s"),
    "reader": lambda client, topic: client.create_reader(topic),
    "reader of the last": lambda client, topic: client.create_reader(
        topic, LATEST_MESSAGE, inclusive=True
    ),
}


class Witness:
    """Who is attached to the topic, by the broker's own word."""

    def __init__(self, broker, topic, names, web):
        self.broker = broker
        self.topic = topic
        self._web = web
        self._urls = [f"{broker.web_url}/admin/v2/{name}/stats" for name in names]

    async def attached(self):
        found = 0
        for url in self._urls:
            async with self._web.get(url) as answer:
                stats = await answer.json()
            found += len(stats["publishers"])
            found += sum(len(each["consumers"]) for each in stats["subscriptions"].values())
        return found

    async def nobody(self):
        """Whether nobody is attached, now or soon."""
        try:
            async with asyncio.timeout(2):
                while await self.attached():
                    pass
        except TimeoutError:
            return False
        return True


@pytest.fixture(params=[0, 2], ids=["one topic", "partitions"])
async def witness(request, broker, topic):
    path, names = topic.replace("://", "/"), [topic.replace("://", "/")]
    if request.param:
        ask(broker, "PUT", f"{path}/partitions", request.param)
        names = [f"{path}-partition-{index}" for index in range(request.param)]
    async with Client(broker.service_url) as client:
        await (await client.create_producer(topic)).send_many([b"x"] * 10)
    async with aiohttp.ClientSession() as web:
        yield Witness(broker, topic, names, web)


async def cancelled_after(steps, work, *, again):
    """Let it run for so many turns of the loop. What it returned, and whether it was cancelled."""
    task = asyncio.ensure_future(work)
    await iterations(steps)
    if task.done():
        return task.result(), False
    task.cancel()
    while again and not task.done():
        await asyncio.sleep(0)
        task.cancel()
    try:
        return await task, True
    except asyncio.CancelledError:
        return None, True


@pytest.mark.parametrize("again", [False, True], ids=["once", "again and again"])
@pytest.mark.parametrize("what", MAKE)
@pytest.mark.unmoved
async def test_what_was_cancelled_while_it_was_made_is_not_attached(witness, what, again):
    for steps in count():
        async with Client(witness.broker.service_url) as client:
            made, cancelled = await cancelled_after(
                steps, MAKE[what](client, witness.topic), again=again
            )
            if made is not None:
                await made.close()
            assert await witness.nobody(), f"attached, after a cancellation in turn {steps}"
        if not cancelled:
            return


@pytest.mark.parametrize("again", [False, True], ids=["once", "again and again"])
@pytest.mark.parametrize("what", MAKE)
@pytest.mark.unmoved
async def test_a_cancelled_close_detaches_all_the_same(witness, what, again):
    for steps in count():
        async with Client(witness.broker.service_url) as client:
            made = await MAKE[what](client, witness.topic)
            assert await witness.attached()
            _, cancelled = await cancelled_after(steps, made.close(), again=again)
            assert await witness.nobody(), f"attached, after a cancellation in turn {steps}"
        if not cancelled:
            return


@pytest.mark.parametrize("what", ["producer", "consumer"])
async def test_a_client_whose_close_is_cancelled_detaches_all_the_same(witness, what):
    for steps in count():
        client = Client(witness.broker.service_url)
        await MAKE[what](client, witness.topic)
        _, cancelled = await cancelled_after(steps, client.close(), again=False)
        assert await witness.nobody(), f"attached, after a cancellation in turn {steps}"
        await client.close()
        if not cancelled:
            return


@pytest.mark.parametrize("what", MAKE)
async def test_a_second_close_waits_for_the_first(witness, what):
    for steps in count():
        async with Client(witness.broker.service_url) as client:
            made = await MAKE[what](client, witness.topic)
            _, cancelled = await cancelled_after(steps, made.close(), again=False)
            await made.close()
            assert not await witness.attached(), f"attached, after a cancellation in turn {steps}"
        if not cancelled:
            return
