"""What a metadata store does when its ZooKeeper server, its session or a connection goes."""

import asyncio
import signal

import pytest
from support.bookkeeper import expire

from bench.bookkeeper_cluster import ZooKeeperServer
from bench.maven import Missing
from magnetar.errors import InvalidValue, MetadataLost, StorageError, VersionMismatch
from magnetar.storage.metadata.store import ABSENT, Owner, SessionState
from magnetar.storage.metadata.zookeeper import ZooKeeperMetadataStore, ZooKeeperSettings

SESSION_S = 2.0

pytestmark = pytest.mark.slow


class States:
    """What a session tells, as it may be awaited."""

    def __init__(self, store):
        self._told = asyncio.Queue()
        store.watch_session(self._told.put_nowait)

    async def until(self, state):
        async with asyncio.timeout(20):
            while await self._told.get() is not state:
                pass


@pytest.fixture
async def server(tmp_path):
    """One of its own, which may be stopped."""
    try:
        server = ZooKeeperServer(tmp_path / "zookeeper")
    except Missing as error:
        pytest.skip(str(error))
    with server:
        yield server


def settings(server, **others):
    others.setdefault("session_timeout_s", SESSION_S)
    return ZooKeeperSettings(servers=f"{server.address}/here", **others)


@pytest.fixture
async def store(server):
    store = await ZooKeeperMetadataStore.open(settings(server))
    yield store
    await store.close()


@pytest.fixture
async def patient(server):
    """One whose session outlives a server that is started again."""
    store = await ZooKeeperMetadataStore.open(settings(server, session_timeout_s=40.0))
    yield store
    await store.close()


async def test_a_server_may_have_an_address_of_ipv6(server):
    async def relay(reader, writer):
        other_reader, other_writer = await asyncio.open_connection("127.0.0.1", server.port)
        await asyncio.gather(copied(reader, other_writer), copied(other_reader, writer))

    async def copied(reader, writer):
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    try:
        relays = await asyncio.start_server(relay, "::1", 0)
    except OSError as error:
        pytest.skip(f"this machine has no IPv6: {error}")
    port = relays.sockets[0].getsockname()[1]
    store = await ZooKeeperMetadataStore.open(ZooKeeperSettings(servers=f"[::1]:{port}/here"))
    await store.put("/kept", b"1")
    assert (await store.get("/kept")).value == b"1"
    await store.close()
    relays.close()


async def test_a_session_that_expires_is_lost_and_another_begins(store, server):
    states, changed = States(store), asyncio.Queue()
    store.watch("/kept", changed.put_nowait)
    await store.put("/kept", b"1")
    await store.put("/mine", b"1", ephemeral=True)
    await asyncio.to_thread(expire, store, server)
    await states.until(SessionState.LOST)
    await states.until(SessionState.CONNECTED)
    assert await store.get("/mine") is None
    assert await store.put("/mine", b"2", expected_version=ABSENT, ephemeral=True) == 0
    assert (await store.get("/mine")).owner is Owner.OURS
    while not changed.empty():
        changed.get_nowait()
    await store.put("/kept", b"2")  # The watch goes on.
    assert await asyncio.wait_for(changed.get(), 10) == "/kept"


async def test_a_session_is_given_up_before_a_server_that_says_nothing_could_end_it(store, server):
    states = States(store)
    await store.put("/mine", b"1", ephemeral=True)
    server.signal(signal.SIGSTOP)
    try:
        await states.until(SessionState.SUSPENDED)
        async with asyncio.timeout(SESSION_S):
            await states.until(SessionState.LOST)
    finally:
        server.signal(signal.SIGCONT)
    await states.until(SessionState.CONNECTED)
    await store.put("/kept", b"1")
    assert (await store.get("/kept")).value == b"1"


async def test_who_asks_without_a_session_is_refused_at_once(store, server):
    states = States(store)
    server.signal(signal.SIGSTOP)
    try:
        waiting = [
            asyncio.ensure_future(store.get("/a")),
            asyncio.ensure_future(store.put("/b", b"")),
        ]
        await states.until(SessionState.LOST)
        for each in waiting:
            with pytest.raises(MetadataLost, match="does not answer"):
                await each
        with pytest.raises(MetadataLost):
            await asyncio.wait_for(store.children("/"), 1)
    finally:
        server.signal(signal.SIGCONT)
    await states.until(SessionState.CONNECTED)
    assert await store.get("/a") is None


async def test_a_server_that_is_killed_and_started_again_has_all_that_was_answered(patient, server):
    for number in range(20):
        await patient.put(f"/kept/{number}", b"%d" % number)
    server.kill()
    reading = asyncio.ensure_future(patient.children("/kept"))
    writing = asyncio.ensure_future(patient.put("/late", b"1"))
    await asyncio.to_thread(server.start)
    assert len(await reading) == 20
    assert await writing in {0, 1}  # It may have been written twice.


async def test_who_counts_up_while_the_server_is_killed_counts_every_answer(patient, server):
    await patient.put("/n", b"0")
    states, answered = States(patient), 0
    reached = {at: asyncio.Event() for at in (50, 150)}

    async def count():
        nonlocal answered
        while answered < 300:
            try:
                record = await patient.get("/n")
                number = int(record.value) + 1
                await patient.put("/n", b"%d" % number, expected_version=record.version)
            except VersionMismatch:
                continue
            except MetadataLost:  # The server began slower than the session lasts.
                await states.until(SessionState.CONNECTED)
                continue
            answered += 1
            if answered in reached:
                reached[answered].set()

    async def kill():
        for event in reached.values():
            await event.wait()
            server.kill()
            await asyncio.to_thread(server.start)

    async with asyncio.timeout(100), asyncio.TaskGroup() as both:
        both.create_task(count())
        both.create_task(kill())
    assert int((await patient.get("/n")).value) >= answered


async def test_what_cannot_be_there_is_refused_by_name(store):
    with pytest.raises(StorageError, match="/big would have 2000000 bytes"):
        await store.put("/big", bytes(2_000_000))
    with pytest.raises(InvalidValue, match=r"/a/\.\. cannot be in ZooKeeper"):
        await store.put("/a/..", b"1")
    await store.put("/a", b"1")


async def test_a_server_that_is_not_there_is_named(unused_tcp_port):
    there = ZooKeeperSettings(servers=f"127.0.0.1:{unused_tcp_port}", operation_timeout_s=0.5)
    with pytest.raises(StorageError, match=f"127.0.0.1:{unused_tcp_port} did not answer"):
        await ZooKeeperMetadataStore.open(there)


async def test_what_is_written_with_credentials_is_of_their_owner_alone(server, store):
    owner = await ZooKeeperMetadataStore.open(settings(server, digest="magnetar:secret"))
    try:
        await owner.put("/secrets/one", b"1")
        assert (await owner.get("/secrets/one")).value == b"1"
        with pytest.raises(StorageError, match="NoAuthError"):
            await store.get("/secrets/one")
    finally:
        await owner.close()


async def test_numbers_ascend_whoever_asks(server, store):
    other = await ZooKeeperMetadataStore.open(settings(server))
    try:
        numbers = [await each.next_number("/ids/ID-") for each in (store, other, store, other)]
    finally:
        await other.close()
    assert numbers == sorted(set(numbers))
