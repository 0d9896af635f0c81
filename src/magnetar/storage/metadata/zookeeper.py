"""A metadata store on Apache ZooKeeper: one session with a server of an ensemble.

A record is a znode. ZooKeeper wants the parents of a znode to be there, so they are made, empty,
and go with their last child. An empty znode that has children is no record, therefore.

A write whose answer was lost with the connection may have happened. It is looked at again: what was
to be written whatever is there is written once more; what was to replace one version is tried again
where that is still there, and is a VersionMismatch else, whoever replaced it.

What is asked waits while a session is suspended, and fails at once when it is lost: clients of a
broker that is cut off are not held up.

All changes below the root come by one persistent recursive watch, of which kazoo knows nothing: its
request and its events are added here. The watch ends with a connection; then a new one begins, and
all watches are told, since nobody knows what changed meanwhile.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from kazoo.client import KazooClient
from kazoo.exceptions import (
    BadVersionError,
    ConnectionLoss,
    KazooException,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SessionExpiredError,
)
from kazoo.protocol.states import KazooState, WatchedEvent, ZnodeStat
from kazoo.security import make_digest_acl

from magnetar.errors import InvalidValue, MetadataLost, StorageError, VersionMismatch
from magnetar.late_dataclass import dataclass
from magnetar.model.cluster_stores import CONNECTED, LOST, SUSPENDED, SessionCounts
from magnetar.tasks import Tasks

from .kazoo_handler import PollingHandler
from .recursive_watch import AddWatch, EveryPath
from .store import ABSENT, Owner, Record, SessionState, Watch
from .watches import SessionWatches, Watches

log = logging.getLogger(__name__)

PACKET_SIZE_MAX: Final = 1024 * 1024 - 1
"""Bytes of a request, as servers are set by default (jute.maxbuffer)."""
_PACKET_OVERHEAD: Final = 256
_LOST: Final = (ConnectionLoss, SessionExpiredError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperSettings:
    """How an ensemble is reached."""

    servers: str  # host:port,host:port/chroot
    session_timeout_s: float = 30.0  # metadataStoreSessionTimeoutMillis
    operation_timeout_s: float = 30.0  # metadataStoreOperationTimeoutSeconds
    digest: str = ""  # user:password; what is written is then that user's alone.
    use_tls: bool = False
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    name: str = "metadata-store"  # In metrics.

    def __post_init__(self) -> None:
        if self.digest and ":" not in self.digest:
            raise InvalidValue("credentials for ZooKeeper are user:password")


class ZooKeeperMetadataStore:
    """One session on an ensemble."""

    def __init__(self, settings: ZooKeeperSettings, client: KazooClient) -> None:
        """For ``open`` alone."""
        self._settings = settings
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._tasks = Tasks("metadata")
        self._watches = Watches()
        self._session_watches = SessionWatches()
        self._connected = asyncio.Event()
        self._connected.set()
        self._answers: set[asyncio.Future[Any]] = set()
        self._lost_timer: asyncio.TimerHandle | None = None
        self.counts = SessionCounts(settings.servers, settings.name, watches=self._watches.__len__)
        self._closed = False

    @classmethod
    async def open(cls, settings: ZooKeeperSettings) -> "ZooKeeperMetadataStore":
        """Begin a session. Raises StorageError where no server answers in time."""
        user, _, password = settings.digest.partition(":")
        client = KazooClient(
            settings.servers,
            timeout=settings.session_timeout_s,
            handler=PollingHandler(),
            auth_data=[("digest", settings.digest)] if settings.digest else None,
            default_acl=[make_digest_acl(user, password, all=True)] if settings.digest else None,
            use_ssl=settings.use_tls,
            ca=settings.ca_file,
            certfile=settings.certificate_file,
            keyfile=settings.key_file,
        )
        began, loop = asyncio.Event(), asyncio.get_running_loop()

        def told(_state: str) -> bool:  # In a thread of kazoo's, once.
            loop.call_soon_threadsafe(began.set)
            return True

        client.add_listener(told)
        client.start_async()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(began.wait(), settings.operation_timeout_s)
        if not client.connected:
            await asyncio.to_thread(client.stop)
            await asyncio.to_thread(client.close)
            raise StorageError(
                f"ZooKeeper at {settings.servers} did not answer in "
                f"{settings.operation_timeout_s:g} s: start it, or correct the address"
            )
        store = cls(settings, client)
        client.add_listener(store._told_of_session)
        try:
            await store._ask(client.ensure_path_async, "/")
            await store._watch_all()
        except (KazooException, StorageError) as error:
            await store.close()
            raise store._no_answer() from error
        return store

    async def get(self, path: str) -> Record | None:
        with self.counts.operations["get"].counted(self._loop.time):
            found = await self._read(self._client.get_async, path)
        if found is None:
            return None
        value, stat = found
        if _is_parent(stat):
            return None
        return Record(value, stat.version, self._owner(stat))

    async def put(
        self,
        path: str,
        value: bytes,
        *,
        expected_version: int | None = None,
        ephemeral: bool = False,
    ) -> int:
        self._check_open()
        if {".", ".."} & set(path.split("/")):
            raise InvalidValue(f"{path} cannot be in ZooKeeper, which has no names like . and ..")
        if len(value) + len(path) + _PACKET_OVERHEAD > PACKET_SIZE_MAX:
            raise StorageError(
                f"{path} would have {len(value)} bytes, more than ZooKeeper takes "
                f"({PACKET_SIZE_MAX}, jute.maxbuffer)"
            )
        self.counts.put_bytes += len(value)
        with self.counts.operations["put"].counted(self._loop.time):
            version: int = await self._change(
                path,
                expected_version,
                lambda: self._put(path, value, expected_version, ephemeral=ephemeral),
            )
        return version

    async def delete(self, path: str, *, expected_version: int | None = None) -> None:
        self._check_open()
        with self.counts.operations["del"].counted(self._loop.time):
            await self._change(path, expected_version, lambda: self._delete(path, expected_version))

    async def children(self, path: str) -> list[str]:
        names = await self._read(self._client.get_children_async, path)
        return sorted(name for name in names or () if path != "/" or name != "zookeeper")

    async def created_ms(self, path: str) -> int | None:
        """When a record was made, by the servers' clock; None where there is none."""
        stat = await self._read(self._client.exists_async, path)
        return None if stat is None else int(stat.ctime)

    async def next_number(self, path: str) -> int:
        """A number that is greater than all before it of this path, which ends with a prefix.

        BookKeeper's ids of ledgers are made so: an ephemeral sequential znode, deleted at once. A
        sequence has 31 bits: behind the greatest number follow those below 0.
        """
        self._check_open()
        while True:
            try:
                made = await self._ask(
                    self._client.create_async,
                    path,
                    b"",
                    ephemeral=True,
                    sequence=True,
                    makepath=True,
                )
            except _LOST as error:
                await self._connected_again(error)
                continue
            self._client.delete_async(made)
            return int(made.removeprefix(path))

    def watch(self, prefix: str, changed: Callable[[str], None]) -> Watch:
        self._check_open()
        return self._watches.begin(prefix, changed)

    def watch_session(self, changed: Callable[[SessionState], None]) -> Watch:
        self._check_open()
        return self._session_watches.begin(changed)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._watches.clear()
        self._stop_timer()
        await self._tasks.close()
        await asyncio.to_thread(self._client.stop)
        await asyncio.to_thread(self._client.close)

    # One request.

    async def _ask(self, request: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Ask the server, once. Raises KazooException, and MetadataLost where nobody answers."""
        if self.counts.state == LOST:
            raise self._no_answer()
        return await self._answer(request, *arguments, **named)

    async def _answer(self, request: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Ask even without a session: kazoo sends it as soon as there is one."""
        answer = self._loop.create_future()
        self._answers.add(answer)
        answer.add_done_callback(self._answers.discard)

        def settle(result: Any) -> None:
            if answer.done():
                return
            if result.exception is None:
                answer.set_result(result.value)
            else:
                answer.set_exception(result.exception)

        def told(result: Any) -> None:  # In a thread of kazoo's.
            with contextlib.suppress(RuntimeError):  # As in ``_told_of_session``.
                self._loop.call_soon_threadsafe(settle, result)

        request(*arguments, **named).rawlink(told)
        try:
            async with asyncio.timeout(self._settings.operation_timeout_s):
                return await answer
        except TimeoutError:
            raise self._no_answer() from None

    async def _read(self, request: Callable[..., Any], path: str) -> Any:
        """Ask until there is an answer; None where there is no such znode."""
        self._check_open()
        while True:
            try:
                return await self._ask(request, path)
            except NoNodeError:
                return None
            except _LOST as error:
                await self._connected_again(error)
            except KazooException as error:
                raise _refused(path, error) from error

    async def _connected_again(self, error: KazooException) -> None:
        """Return when there is a connection. Raises MetadataLost where there is none in time."""
        self._check_open()
        self._connected.clear()
        if self._client.connected or self.counts.state == LOST:
            self._connected.set()
        try:
            async with asyncio.timeout(self._settings.operation_timeout_s):
                await self._connected.wait()
        except TimeoutError:
            raise self._no_answer() from error

    def _no_answer(self) -> MetadataLost:
        return MetadataLost(
            f"ZooKeeper at {self._settings.servers} does not answer: see whether a majority of it "
            "runs, and can be reached"
        )

    # Writing.

    async def _change(
        self, path: str, expected_version: int | None, change: Callable[[], Awaitable[Any]]
    ) -> Any:
        """Do what writes, to its end even where who asked is cancelled."""
        task = self._tasks.start("write", self._change_once(path, expected_version, change))
        return await asyncio.shield(task)

    async def _change_once(
        self, path: str, expected_version: int | None, change: Callable[[], Awaitable[Any]]
    ) -> Any:
        while True:
            try:
                return await change()
            except _LOST as error:
                await self._connected_again(error)
                if expected_version is not None:
                    await self._check_version(path, expected_version)
            except KazooException as error:
                raise _refused(path, error) from error

    async def _put(
        self, path: str, value: bytes, expected_version: int | None, *, ephemeral: bool
    ) -> int:
        if expected_version == ABSENT:
            return await self._put_new(path, value, ephemeral=ephemeral)
        while True:
            try:
                if ephemeral:
                    return await self._put_ephemeral(path, value, expected_version)
                version = -1 if expected_version is None else expected_version
                stat = await self._ask(self._client.set_async, path, value, version)
                if not stat.ephemeralOwner:
                    return int(stat.version)
                return await self._replace(path, value, stat.version, ephemeral=False)
            except NoNodeError:
                if expected_version is not None:
                    raise _mismatch(path, ABSENT, expected_version) from None
                with contextlib.suppress(NodeExistsError):
                    await self._create(path, value, ephemeral=ephemeral)
                    return 0
            except (BadVersionError, NodeExistsError):
                if expected_version is not None:
                    await self._check_version(path, expected_version)

    async def _put_ephemeral(self, path: str, value: bytes, expected_version: int | None) -> int:
        """Put a record of this session in the place of what is there, if anything is."""
        if expected_version is None:
            with contextlib.suppress(NodeExistsError):  # Most are not there.
                await self._create(path, value, ephemeral=True)
                return 0
        stat = await self._read(self._client.exists_async, path)
        if stat is None:
            raise NoNodeError
        await self._check_version(path, expected_version, stat)
        return await self._replace(path, value, stat.version, ephemeral=True)

    async def _put_new(self, path: str, value: bytes, *, ephemeral: bool) -> int:
        """Put a record that is not there, in one request where its znode is not, either."""
        while True:
            with contextlib.suppress(NodeExistsError):  # It may be a parent, which is no record.
                await self._create(path, value, ephemeral=ephemeral)
                return 0
            stat = await self._read(self._client.exists_async, path)
            if stat is not None:
                await self._check_version(path, ABSENT, stat)
                with contextlib.suppress(BadVersionError):  # It has changed.
                    return await self._replace(path, value, stat.version, ephemeral=ephemeral)

    async def _create(self, path: str, value: bytes, *, ephemeral: bool) -> None:
        while True:
            try:
                await self._ask(
                    self._client.create_async, path, value, ephemeral=ephemeral, makepath=True
                )
            except NoNodeError:
                continue  # A parent went with its last child meanwhile.
            return

    async def _replace(self, path: str, value: bytes, version: int, *, ephemeral: bool) -> int:
        """Put a znode in the place of another, which has another owner or is a parent."""
        stat = await self._read(self._client.exists_async, path)
        if stat is not None and stat.numChildren and not ephemeral:
            return int((await self._ask(self._client.set_async, path, value, version)).version)
        both = self._client.transaction()
        both.delete(path, version)
        both.create(path, value, ephemeral=ephemeral)
        for result in await self._ask(both.commit_async):
            if isinstance(result, (NoNodeError, BadVersionError, NodeExistsError, NotEmptyError)):
                raise BadVersionError from result
            if isinstance(result, _LOST):
                raise result
        return 0

    async def _delete(self, path: str, expected_version: int | None) -> None:
        version = -1 if expected_version is None else expected_version
        try:
            await self._ask(self._client.delete_async, path, version)
        except NoNodeError:
            if expected_version is not None:
                raise _mismatch(path, ABSENT, expected_version) from None
            return
        except BadVersionError:
            await self._check_version(path, version)
        except NotEmptyError:
            await self._ask(self._client.set_async, path, b"", version)
            return
        await self._delete_empty_parents(path)

    async def _delete_empty_parents(self, path: str) -> None:
        parent = path.rpartition("/")[0]
        while parent:
            stat = await self._read(self._client.exists_async, parent)
            if stat is None or stat.dataLength or stat.numChildren or stat.ephemeralOwner:
                return
            try:
                await self._ask(self._client.delete_async, parent, stat.version)
            except KazooException:
                return  # Somebody uses it.
            parent = parent.rpartition("/")[0]

    async def _check_version(
        self, path: str, expected_version: int | None, stat: ZnodeStat | None = None
    ) -> None:
        """Raises VersionMismatch where the record is not at this version."""
        stat = stat or await self._read(self._client.exists_async, path)
        version = ABSENT if stat is None or _is_parent(stat) else stat.version
        if expected_version is not None and version != expected_version:
            raise _mismatch(path, version, expected_version)

    # The session.

    def _owner(self, stat: ZnodeStat) -> Owner:
        if not stat.ephemeralOwner:
            return Owner.NONE
        session = self._client.client_id
        return Owner.OURS if session and session[0] == stat.ephemeralOwner else Owner.OTHER

    def _told_of_session(self, state: str) -> None:  # In a thread of kazoo's.
        with contextlib.suppress(RuntimeError):  # The loop was closed, and the store was not.
            self._loop.call_soon_threadsafe(self._session_changed, state)

    def _session_changed(self, state: str) -> None:
        if self._closed:
            return
        self._stop_timer()
        if state == KazooState.CONNECTED:
            self._tasks.spawn("connected", self._connected_to_another())
        elif state == KazooState.SUSPENDED:
            self.counts.state = SUSPENDED
            self._session_watches.notify(SessionState.SUSPENDED)
            # The server was last heard at most two thirds of the timeout ago.
            self._lost_timer = self._loop.call_later(
                self._settings.session_timeout_s / 3, self._lose
            )
        else:
            self._lose()

    def _lose(self) -> None:
        self.counts.lost += self.counts.state != LOST
        self.counts.state = LOST
        log.warning("metadata.session_lost servers=%s", self._settings.servers)
        self._session_watches.notify(SessionState.LOST)
        self._connected.set()  # Who waits for a connection asks, and hears that there is none.
        for answer in [each for each in self._answers if not each.done()]:
            answer.set_exception(self._no_answer())

    def _stop_timer(self) -> None:
        if self._lost_timer is not None:
            self._lost_timer.cancel()
            self._lost_timer = None

    async def _connected_to_another(self) -> None:
        try:
            await self._watch_all()
        except (*_LOST, MetadataLost):
            return  # It is gone again.
        self.counts.state = CONNECTED
        self._connected.set()
        self.counts.reconnections += 1
        self._session_watches.notify(SessionState.CONNECTED)
        self._watches.notify(None)

    async def _watch_all(self) -> None:
        self._client._data_watchers = EveryPath(self._told_of_change)  # noqa: SLF001 - see above
        await self._answer(self._send_watch)

    def _send_watch(self) -> Any:
        answer = self._client.handler.async_result()
        request = AddWatch(self._client.chroot or "/")
        self._client._call(request, answer)  # noqa: SLF001
        return answer

    def _told_of_change(self, event: WatchedEvent) -> None:  # In a thread of kazoo's.
        if event.path is not None:
            self._loop.call_soon_threadsafe(self._watches.notify, event.path)

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("the metadata store is closed")


def _is_parent(stat: ZnodeStat) -> bool:
    return bool(stat.numChildren and not stat.dataLength)


def _refused(path: str, error: KazooException) -> StorageError:
    return StorageError(f"ZooKeeper refused {path}: {type(error).__name__} {error}")


def _mismatch(path: str, version: int, expected_version: int) -> VersionMismatch:
    return VersionMismatch(f"{path} is at version {version}, not {expected_version}")
