import asyncio

import pytest
from support.loop import until_idle

from magnetar.errors import AlreadyExists, StorageError
from magnetar.storage.metadata.lease import Lease
from magnetar.storage.metadata.memory import MemoryMetadataStore, MemoryTree
from magnetar.tasks import Tasks


class Broker:
    """Someone who wants to lead."""

    def __init__(self, tree, name):
        self.metadata = MemoryMetadataStore(tree)
        self.tasks = Tasks(name)
        self.name = name.encode()
        self.losses = 0
        self.lost = asyncio.Event()

    def _lost(self):
        self.losses += 1
        self.lost.set()

    async def take(self):
        return await Lease.take(
            self.metadata, "/leader", self.name, lost=self._lost, tasks=self.tasks
        )


@pytest.fixture
async def brokers():
    tree = MemoryTree()
    brokers = [Broker(tree, f"broker-{number}") for number in range(2)]
    yield brokers
    for broker in brokers:
        await broker.tasks.close()
        await broker.metadata.close()


async def test_one_at_a_time_holds_a_lease(brokers):
    one, other = brokers
    lease = await one.take()
    assert lease.held
    with pytest.raises(AlreadyExists, match="/leader is held by broker-0"):
        await other.take()
    await until_idle()
    assert lease.held
    assert other.losses == 0


async def test_a_released_lease_can_be_taken(brokers):
    one, other = brokers
    lease = await one.take()
    await lease.release()
    await lease.release()
    assert not lease.held
    assert (await other.take()).held
    await until_idle()
    assert one.losses == 0


async def test_a_lease_ends_with_its_session(brokers):
    one, other = brokers
    await one.take()
    await one.metadata.close()
    assert (await other.take()).held


async def test_who_lost_it_is_told_once(brokers):
    one, other = brokers
    lease = await one.take()
    await other.metadata.delete("/leader")
    taken = await other.take()
    await asyncio.wait_for(one.lost.wait(), 10)
    await other.metadata.put("/leader", b"someone else")
    await asyncio.wait_for(other.lost.wait(), 10)
    await until_idle()
    assert (lease.held, taken.held) == (False, False)
    assert (one.losses, other.losses) == (1, 1)


async def test_who_lost_it_takes_nothing_from_who_has_it(brokers):
    one, other = brokers
    lease = await one.take()
    await other.metadata.delete("/leader")
    await other.take()
    await lease.release()
    assert (await one.metadata.get("/leader")).value == b"broker-1"


async def test_a_change_that_leaves_it_ours_is_no_loss(brokers):
    one, _ = brokers
    lease = await one.take()
    await one.metadata.put("/leader", one.name, ephemeral=True)
    await one.metadata.put("/leader/child", b"")
    await until_idle()
    assert lease.held
    await lease.release()
    assert await one.metadata.get("/leader") is None


async def test_what_cannot_be_written_is_not_held(brokers):
    one, _ = brokers
    await one.metadata.close()
    with pytest.raises(StorageError):
        await one.take()
    assert len(one.tasks) == 0
