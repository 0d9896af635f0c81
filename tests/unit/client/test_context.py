import pytest
from unit.client.peer import refuse

from magnetar.errors import (
    NotAuthorized,
    ProducerBusy,
)
from magnetar.wire.commands import BaseCommand


async def test_when_one_partition_refuses_the_others_are_closed_again(peer, client):
    peer.partitions = 3
    peer.script(
        BaseCommand.PRODUCER,
        peer.as_always,
        refuse("producer", ProducerBusy("taken")),
    )
    with pytest.raises(ProducerBusy, match="taken"):
        await client.create_producer("t")
    assert len(peer.of(BaseCommand.CLOSE_PRODUCER)) >= 2
    peer.script(
        BaseCommand.SUBSCRIBE,
        peer.as_always,
        refuse("subscribe", NotAuthorized("no")),
    )
    with pytest.raises(NotAuthorized, match="no"):
        await client.subscribe("t", "s")
    assert len(peer.of(BaseCommand.CLOSE_CONSUMER)) >= 2
