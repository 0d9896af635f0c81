import asyncio
import re
from itertools import count

import pytest
from support.loop import until

from magnetar.wire.commands import BaseCommand


async def test_topics_named_twice_are_subscribed_once(client):
    consumer = await client.subscribe(["t", "persistent://public/default/t"], "s")
    assert consumer.topics == ["persistent://public/default/t"]


async def test_partitions_share_the_queue(peer, client):
    peer.partitions = 4
    await client.subscribe("t", "s", receiver_queue_size=1000, total_receiver_queue_size=100)
    flows = [await peer.saw(BaseCommand.FLOW, count) for count in range(1, 5)]
    assert {command.flow.messagePermits for command in flows} == {25}


MAKES = {
    "a list": lambda client: client.subscribe(["a", "b"], "s"),
    "a pattern": lambda client: client.subscribe(re.compile("public/default/.*"), "s"),
    "a reader": lambda client: client.create_reader("a", start_rollback_s=5),
    "a table view": lambda client: client.create_table_view("a"),
}


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
async def test_cancelled_at_any_time_it_leaves_nothing_behind(peer, client, make):
    """After one pass of the loop, after two, and so on until it is done before."""
    async with client.create_producer("a") as producer:
        await producer.send(b"0")
    for passes in count():
        opening = asyncio.ensure_future(make(client))
        for _ in range(passes):
            await asyncio.sleep(0)
        if opening.done():
            break
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await until(lambda: not any(each.subscribed for each in peer.connections))
    assert passes > 10
    await (await opening).close()
    await until(lambda: not any(each.subscribed for each in peer.connections))
    assert client._open == {}
