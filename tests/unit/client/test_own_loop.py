"""A client belongs to the loop of its first use: every other one is refused at once."""

import asyncio
import gc
import inspect

import pytest
from support import loop
from support.loop import WatchedLoop, until

from magnetar import Client, Consumer, Producer, Reader
from magnetar.client.own_loop import check_loop, enter_loop
from magnetar.errors import NotAllowed

ARGUMENTS = {
    "create_producer": ("t",),
    "subscribe": ("t", "s"),
    "create_reader": ("t",),
    "partitions": ("t",),
    "topics": ("public/default",),
    "send": (b"x",),
    "submit": (b"x",),
    "send_nowait": (b"x",),
    "send_many": ([b"x"],),
    "enqueue": ([b"x"],),
    "enqueue_packed": ([],),
    "reconsume_later": (None, 1),
    "register_schema": (None,),
    "schema": ("t",),
    "go_over": (None,),
    "seek": (None,),
    "seek_time": (0,),
    "seek_each": (lambda _: 0,),
    "create_table_view": ("t",),
}
NO_USE_OF_THE_LOOP = {
    "add",
    "arrived",
    "failed",
    "put_back",
    "start_listening",
    "report_stats",
    "remove",
    "run",
} | {
    "acknowledge",
    "acknowledge_cumulative",
    "watch",
    "check_room",
    "needs_no_answer",
    "pop",  # Any thread may.
    "prepare",
    "take",  # ``Handover`` calls it on the loop.
    "negative_acknowledge",  # A message to acknowledge was received in the right loop.
}


def calls(kind):
    return [
        name
        for name, member in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and name not in NO_USE_OF_THE_LOOP
    ]


@pytest.fixture(scope="module")
def left(broker):
    """A client and what it made, in a loop that is not running any more."""

    async def use():
        client = Client(broker.service_url)
        return (
            client,
            await client.create_producer("left"),
            await client.subscribe("left", "s"),
            await client.create_reader("left"),
        )

    with asyncio.Runner(loop_factory=WatchedLoop) as runner:
        made = {type(each): each for each in runner.run(use())}
        yield made
        runner.run(made[Client].__aexit__())


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in (Client, Producer, Consumer, Reader) for name in calls(kind)],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_every_call_in_a_second_loop_is_refused(left, kind, name):
    async def again():
        result = getattr(left[kind], name)(*ARGUMENTS.get(name, ()))
        if inspect.isawaitable(result):
            await result

    with pytest.raises(NotAllowed, match="another event loop: use it there, or make one here"):
        asyncio.run(again())


async def test_a_message_that_arrived_is_not_taken_in_another_loop_either(broker):
    async with (
        Client(broker.service_url) as client,
        client.subscribe("waiting", "s") as consumer,
        client.create_producer("waiting") as producer,
    ):
        await producer.send(b"x")
        await until(lambda: consumer._queues._ready)
        with pytest.raises(NotAllowed, match="another event loop"):
            await asyncio.to_thread(asyncio.run, consumer.receive_many())
        assert (await consumer.receive(5)).data == b"x"


@pytest.mark.parametrize("name", ["submit", "send_nowait", "close", "flush"])
def test_without_a_loop_it_says_so(left, name):
    with pytest.raises(NotAllowed, match="no event loop is running here: call this in a coroutine"):
        getattr(left[Producer], name)(*ARGUMENTS.get(name, ())).send(None)


def test_a_client_may_be_made_before_there_is_a_loop():
    client = Client("pulsar://localhost")
    for _ in range(2):
        outcome = loop.run(_entered(client))
        assert outcome is None or "closed: make a client in each asyncio.run" in str(outcome)
    assert outcome is not None
    client.itself = client  # Only the collection ends it.
    del outcome, client
    with pytest.warns(ResourceWarning, match="unclosed <Client of pulsar://localhost>"):
        gc.collect()


async def _entered(client):
    try:
        await client.__aenter__()
    except NotAllowed as error:
        return error


async def test_the_loop_of_its_own_is_no_trouble():
    here = asyncio.get_running_loop()
    check_loop(here)
    assert enter_loop(None) is enter_loop(here) is here
