"""Processes on one file that hear of each other's changes at once, however seldom they look."""

import socket
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest
from support.elsewhere import until_elsewhere

from magnetar.storage.metadata.bells import Bells
from magnetar.storage.metadata.sqlite import SqliteMetadataStore
from magnetar.storage.metadata.sqlite_file import SqliteSettings

SELDOM = SqliteSettings(poll_interval_s=1000, session_timeout_s=1000)


@pytest.fixture
def bells(tmp_path):
    """The sockets of two processes."""
    made = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2)]
    for number, each in enumerate(made):
        each.bind(str(tmp_path / f"bell-{number}"))
        each.setblocking(False)
    yield made
    for each in made:
        each.close()


@asynccontextmanager
async def two_stores(tmp_path, bells):
    async with AsyncExitStack() as stack:
        stores = []
        for number, own in enumerate(bells):
            store = await SqliteMetadataStore.open(tmp_path / "metadata", settings=SELDOM)
            stack.push_async_callback(store.close)
            store.share_by(Bells(own, [tmp_path / f"bell-{1 - number}"]))
            stores.append(store)
        yield stores


async def test_a_change_is_heard_at_once_by_the_other(tmp_path, bells):
    async with two_stores(tmp_path, bells) as (here, there):
        heard = []
        there.watch("/", heard.append)
        await there.get("/")  # The watch has begun.
        await here.put("/managed-ledgers/a", b"")
        await here.put("/b", b"1")
        await until_elsewhere(lambda: "/b" in heard, "the put was not heard")
        await here.delete("/b")
        await until_elsewhere(lambda: heard.count("/b") == 2, "the deletion was not heard")


async def test_one_that_does_not_look_is_rung_in_vain(tmp_path, bells):
    bell = Bells(bells[0], [tmp_path / "bell-1", tmp_path / "nobody"])
    for _ in range(10_000):
        bell.ring()
    rung = 0
    with suppress(BlockingIOError):
        while bells[1].recv(1):
            rung += 1
    assert 0 < rung < 10_000
