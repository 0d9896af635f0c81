"""What is offloaded is read as before, and no crash loses an entry or leaves a copy behind."""

import pytest
from support.loop import until
from support.offloading import MemoryOffloader
from unit.storage.managed_ledger.logs import append, entries, everything

from magnetar.errors import NotAllowed, StorageError
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.codec.offload_context import OffloadContext


def context(uid):
    return OffloadContext(uid, "memory", {"name": uid})


@pytest.fixture
def offloader(logs):
    logs.offloader = MemoryOffloader()
    return logs.offloader


@pytest.fixture
async def ledger(logs, offloader):  # noqa: ARG001 - the log has it
    """Two sealed ledgers, 0 and 1, and an open one; a cursor holds all of it."""
    opened = await logs.open()
    await opened.open_cursor("s", EARLIEST)
    for start in (0, 10):
        await append(opened, entries(10, start=start))
        await logs.roll(opened)
    await append(opened, entries(5, start=20))
    return opened


async def reopened(logs):
    """The log as the next broker has it, when this one was killed: nothing was closed."""
    return await logs.open(cached=False)


async def test_an_offloaded_ledger_is_read_from_its_copy_alone(logs, ledger, offloader):
    await ledger.offload().offload(0, context("a"), lambda: 7)
    await ledger.offload().drop_local([0])
    assert 0 not in logs.ledgers.existing
    ledger = await reopened(logs)
    assert await everything(ledger) == entries(25)
    assert {name for name, _ in offloader.reads} == {"a"}
    assert ledger.layout.ledger(0).offload == OffloadContext(
        "a",
        "memory",
        {"name": "a", "rows": "10", "missing": "0"},
        complete=True,
        local_deleted=True,
        timestamp_ms=7,
    )


async def test_where_both_are_there_the_policy_says_which_is_read(logs, ledger, offloader):
    await ledger.offload().offload(0, context("a"), lambda: 7)
    ledger = await reopened(logs)
    ledger.offload().local_first = True
    await everything(ledger)
    assert offloader.reads == []
    ledger = await reopened(logs)
    await everything(ledger)
    assert {name for name, _ in offloader.reads} == {"a"}


async def test_who_reads_while_the_ledger_is_deleted_here_reads_on(logs, ledger, offloader):
    ledger = await reopened(logs)
    ledger.offload().local_first = True
    await ledger.offload().offload(0, context("a"), lambda: 7)
    run = await ledger.read(Position(0, 0), 1, 1)
    assert offloader.reads == []
    logs.ledgers.reads.close()
    reading = logs.tasks.spawn("read", ledger.read(Position(0, 0), 10, 1 << 20))
    await until(lambda: logs.ledgers.reads.waiting)
    await ledger.offload().drop_local([0])
    logs.ledgers.reads.failures = [StorageError("it is gone")]
    logs.ledgers.reads.open()
    assert (await reading).data[:1] == run.data[:1]


async def crash(step, logs, ledger, offloader):
    """Offload ledger 0, delete it here, and die at one of the steps."""
    offload = ledger.offload()
    if step == "before it is written":
        logs.ledgers.opens.failing = StorageError("killed")
    if step in {"while it is written", "before it is recorded"}:
        offloader.written.failing = StorageError("killed")
    if step == "before what is here is deleted":
        logs.ledgers.deletes.failing = StorageError("killed")
    await offload.offload(0, context("a"), lambda: 7)
    if step == "before that is recorded":
        raise StorageError("killed")
    await offload.drop_local([0])


STEPS = (
    "before it is written",
    "while it is written",
    "before that is recorded",
    "before what is here is deleted",
)


@pytest.mark.parametrize("step", STEPS)
async def test_a_crash_loses_nothing_and_leaves_nothing(logs, ledger, offloader, step):
    with pytest.raises(StorageError, match="killed"):
        await crash(step, logs, ledger, offloader)
    for gate in (logs.ledgers.opens, logs.ledgers.deletes, offloader.written):
        gate.failing = None
    ledger = await reopened(logs)
    assert await everything(ledger) == entries(25)
    offload = ledger.offload()
    await offload.offload(1, context("b"), lambda: 8)
    if not ledger.layout.ledger(0).offload.complete:
        await offload.offload(0, context("c"), lambda: 8)
    await offload.drop_local([0, 1])
    kept = {each.offload.uid for each in ledger.layout.sealed if each.offload}
    assert offloader.copies.keys() == kept
    assert not logs.ledgers.existing & {0, 1}
    ledger = await reopened(logs)
    assert await everything(ledger) == entries(25)


async def test_the_copy_of_a_ledger_that_was_trimmed_meanwhile_is_deleted(logs, ledger, offloader):
    offloader.written.close()
    making = logs.tasks.spawn("offload", ledger.offload().offload(0, context("a"), lambda: 7))
    await until(lambda: offloader.written.waiting)
    ledger.cursors["s"].acknowledge_cumulative(Position(0, 9))
    await ledger.trim()
    await ledger.offload().delete_removed()
    assert offloader.copies.keys() == {"a"}, "it is being written"
    offloader.written.open()
    await making
    assert offloader.copies == {}


async def test_trimming_deletes_copies_and_what_could_not_be_is_tried_again(
    logs, ledger, offloader
):
    await ledger.offload().offload(0, context("a"), lambda: 7)
    await ledger.offload().drop_local([0])
    ledger.cursors["s"].acknowledge_cumulative(Position(1, 0))
    await ledger.trim()
    offloader.deletes.failing = StorageError("no network")
    with pytest.raises(StorageError):
        await ledger.offload().delete_removed()
    ledger = await reopened(logs)
    offloader.deletes.failing = None
    await ledger.offload().delete_removed()
    assert offloader.copies == {}
    assert not ledger.has_offloaded
    assert await everything(ledger) == entries(15, start=10)


async def test_a_log_is_deleted_with_its_copies(logs, ledger, offloader):
    await ledger.offload().offload(0, context("a"), lambda: 7)
    await ledger.delete()
    assert offloader.copies == {}
    assert logs.ledgers.existing == set()


async def test_without_an_offloader_nothing_is_offloaded(logs):
    ledger = await logs.open()
    with pytest.raises(NotAllowed):
        ledger.offload()
