import asyncio

import pytest
from support.loop import until, until_idle

from magnetar.errors import StorageError
from magnetar.storage.metadata.leases import Leases
from magnetar.storage.metadata.memory import MemoryMetadataStore, MemoryTree
from magnetar.storage.metadata.store import Owner
from magnetar.tasks import Tasks


class Process:
    """One that wants to lead."""

    def __init__(self, tree, name):
        self.metadata = MemoryMetadataStore(tree)
        self.tasks = Tasks(name)
        self.lost = []
        self.void = set()
        self.leases = Leases(
            self.metadata,
            "/led",
            name.encode(),
            lost=self.lost.append,
            tasks=self.tasks,
            is_void=self.void.__contains__,
        )

    async def close(self):
        self.leases.close()
        await self.tasks.close()
        await self.metadata.close()


@pytest.fixture
async def two():
    tree = MemoryTree()
    processes = [Process(tree, name) for name in ("one", "other")]
    yield processes
    for process in processes:
        await process.close()


async def test_one_at_a_time_holds_a_lease_and_others_learn_who(two):
    one, other = two
    assert await one.leases.take("/led/a") == b"one"
    assert await other.leases.take("/led/a") == b"one"
    assert await other.leases.take("/led/b") == b"other"
    assert (await other.metadata.get("/led/a")).value == b"one"
    assert await other.metadata.get("/led/c") is None
    await until_idle()
    assert (set(one.leases.held), set(other.leases.held)) == ({"/led/a"}, {"/led/b"})
    assert one.lost == other.lost == []


async def test_a_released_lease_can_be_taken(two):
    one, other = two
    await one.leases.take("/led/a")
    await one.leases.release("/led/a")
    await one.leases.release("/led/a")
    assert await other.leases.take("/led/a") == b"other"
    await until_idle()
    assert one.lost == []


async def test_whoever_waits_for_a_lease_waits_for_one_request_of_its_holder(two):
    one, other = two
    await one.leases.take("/led/a")
    await until_idle()
    seen = []

    async def look(path):
        seen.append(path)

    one.metadata.get = look
    await one.leases.release("/led/a")
    assert await other.metadata.get("/led/a") is None
    assert seen == []


async def test_a_lease_whose_record_changed_and_stayed_ours_is_released(two):
    one, other = two
    await one.leases.take("/led/a")
    await one.metadata.put("/led/a", b"one", ephemeral=True)
    await until_idle()
    await one.leases.release("/led/a")
    assert await other.leases.take("/led/a") == b"other"


async def test_what_an_earlier_session_of_the_same_process_left_is_replaced(two):
    one, other = two
    await other.metadata.put("/led/a", b"one", ephemeral=True)
    assert await one.leases.take("/led/a") == b"one"
    assert (await one.metadata.get("/led/a")).owner is Owner.OURS


@pytest.mark.parametrize("how", ["deleted", "replaced"])
async def test_a_lease_is_lost_once_when_its_record_is_not_ours_any_more(two, how):
    one, other = two
    await one.leases.take("/led/a")
    await one.leases.take("/led/b")
    if how == "deleted":
        await other.metadata.delete("/led/a")
        await other.leases.take("/led/a")
    else:
        await other.metadata.put("/led/a", b"other", ephemeral=True)
    await until(lambda: one.lost == ["/led/a"])
    await one.leases.release("/led/a")
    assert (await one.metadata.get("/led/a")).value == b"other"
    assert set(one.leases.held) == {"/led/b"}


async def test_all_leases_are_lost_with_the_session_before_others_can_take_them(two):
    one, other = two
    await one.leases.take("/led/a")
    await one.leases.take("/led/b")
    one.metadata.expire()
    assert one.lost == ["/led/a", "/led/b"]
    assert await other.leases.take("/led/a") == b"other"
    await until_idle()
    assert len(one.lost) == 2


async def test_a_lease_that_was_written_in_a_session_that_is_lost_meanwhile_is_written_again(two):
    one, _ = two
    put = one.metadata.put

    async def lose_once(path, *arguments, **options):
        version = await put(path, *arguments, **options)
        one.metadata.put = put
        one.metadata.expire()
        return version

    one.metadata.put = lose_once
    assert await one.leases.take("/led/a") == b"one"
    assert (await one.metadata.get("/led/a")).owner is Owner.OURS
    assert one.lost == []


async def test_a_change_that_leaves_it_ours_is_no_loss(two):
    one, _ = two
    await one.leases.take("/led/a")
    await one.metadata.put("/led/a", b"one", ephemeral=True)
    await one.metadata.put("/led/a/child", b"")
    await until_idle()
    assert set(one.leases.held) == {"/led/a"}


async def test_what_cannot_be_written_is_not_held(two):
    one, _ = two
    await one.metadata.close()
    with pytest.raises(StorageError):
        await one.leases.take("/led/a")
    assert not one.leases.held


async def test_the_lease_of_a_holder_that_is_gone_is_taken_before_its_session_ends(two):
    one, other = two
    await one.leases.take("/led/a")
    other.void.add(b"one")
    assert await other.leases.take("/led/a") == b"other"
    assert (await other.metadata.get("/led/a")).owner is Owner.OURS
    await until(lambda: one.lost == ["/led/a"])  # It was not gone after all.
    assert await one.leases.take("/led/a") == b"other"


async def test_of_several_that_see_it_one_takes_the_lease():
    tree = MemoryTree()
    gone, *others = (Process(tree, name) for name in ("gone", "a", "b", "c"))
    await gone.leases.take("/led/a")
    for each in others:
        each.void.add(b"gone")
    taken = await asyncio.gather(*(each.leases.take("/led/a") for each in others))
    assert len(set(taken)) == 1
    await until_idle()
    assert [each.lost for each in others] == [[], [], []]
    for each in (gone, *others):
        await each.close()
