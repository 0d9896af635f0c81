"""A client of the model of ZooKeeper, with the names of kazoo's that the metadata store uses.

Kazoo works in threads of its own; this one in the event loop, and so in its process: what it tells
comes by calls as well.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

from kazoo.exceptions import ConnectionLoss, NodeExistsError, NoNodeError
from kazoo.protocol.states import KazooState, KeeperState, WatchedEvent

from magnetar.clock import SystemClock
from magnetar.tasks import Tasks

from .messages import Messages
from .znodes import Operation

BACKOFF_S: Final = 0.2


class Answer:
    """Kazoo's IAsyncResult."""

    def __init__(self) -> None:
        self.value: Any = None
        self.exception: BaseException | None = None
        self._told: list[Callable[[Any], None]] = []
        self._done = False

    def rawlink(self, told: Callable[[Any], None]) -> None:
        if self._done:
            told(self)
        else:
            self._told.append(told)

    def set(self, value: Any = None) -> None:
        self.value = value
        self._tell()

    def set_exception(self, exception: BaseException) -> None:
        self.exception = exception
        self._tell()

    def _tell(self) -> None:
        self._done = True
        told, self._told = self._told, []
        for each in told:
            each(self)


class SimulatedKazoo:
    """In the place of ``KazooClient``."""

    def __init__(self, hosts: str, timeout: float = 10.0, **_: object) -> None:
        addresses, _slash, chroot = hosts.partition("/")
        self.chroot = f"/{chroot}" if chroot else ""
        self.connected = False
        self.handler = SimpleNamespace(async_result=Answer)
        self._data_watchers: Any = {}
        self._addresses = [each.rpartition(":") for each in addresses.split(",")]
        self._timeout_s = timeout
        self._loop = asyncio.get_running_loop()
        self._tasks = Tasks("kazoo")
        self._listeners: list[Callable[[str], object]] = []
        self._session = 0
        self._messages: Messages | None = None
        self._waiting: deque[tuple[str, Any, Answer]] = deque()
        self._asked: dict[int, Answer] = {}
        self._next = 0
        self._heard_at = 0.0
        self._stopped = False
        self._changed = asyncio.Event()
        self._ended = asyncio.Event()

    @property
    def client_id(self) -> tuple[int, bytes] | None:
        return (self._session, b"") if self._session else None

    def add_listener(self, listener: Callable[[str], object]) -> None:
        self._listeners.append(listener)

    def start_async(self) -> None:
        self._tasks.spawn("connection", self._stay_connected())

    def stop(self) -> None:
        """End the session. In a thread, as kazoo's may be called, return when it has ended."""
        if asyncio._get_running_loop() is self._loop:  # noqa: SLF001 - which loop runs here
            self._stop()
        else:
            self._loop.call_soon_threadsafe(self._stop)
            with suppress(TimeoutError):
                asyncio.run_coroutine_threadsafe(self._ended.wait(), self._loop).result(5)

    def close(self) -> None:
        """There is nothing left."""

    def _stop(self) -> None:
        self._stopped = True
        if self._messages is not None and self.connected:
            self._messages.send("close")
            self._loop.call_later(self._timeout_s, self._messages.abort)
        else:
            if self._messages is not None:  # What it answers comes too late.
                self._messages.abort()
                self._messages = None
            self._ended.set()
        self._changed.set()

    # What is asked.

    def get_async(self, path: str) -> Answer:
        return self._ask("get", self.at(path))

    def exists_async(self, path: str) -> Answer:
        return self._ask("exists", self.at(path))

    def get_children_async(self, path: str) -> Answer:
        return self._ask("children", self.at(path))

    def set_async(self, path: str, value: bytes, version: int = -1) -> Answer:
        return self._first_of(self.write(Operation("set", self.at(path), value, version)))

    def delete_async(self, path: str, version: int = -1) -> Answer:
        return self._first_of(self.write(Operation("delete", self.at(path), b"", version)))

    def create_async(
        self,
        path: str,
        value: bytes = b"",
        *,
        ephemeral: bool = False,
        sequence: bool = False,
        makepath: bool = False,
    ) -> Answer:
        operation = Operation(
            "create", self.at(path), value, ephemeral=ephemeral, sequence=sequence
        )
        answer = Answer()
        self._create(operation, answer, makepath=makepath)
        return answer

    def ensure_path_async(self, path: str) -> Answer:
        answer = Answer()
        full = self.at(path)
        if full == "/":
            answer.set(True)
        else:
            self._create(Operation("create", full), answer, makepath=True, may_exist=True)
        return answer

    def transaction(self) -> "_Transaction":
        return _Transaction(self)

    def _call(self, request: Any, answer: Answer) -> None:
        """Kazoo's way for requests that it does not know: that of the recursive watch."""
        self._send("watch", request.path, answer)

    def at(self, path: str) -> str:
        """The path as the server knows it."""
        return (self.chroot + path).rstrip("/") or "/"

    def _shown(self, path: str) -> str:
        return path.removeprefix(self.chroot) or "/"

    def write(self, *operations: Operation) -> Answer:
        """Ask for writes that happen together."""
        return self._ask("write", list(operations))

    @staticmethod
    def _first_of(asked: Answer) -> Answer:
        answer = Answer()

        def told(result: Answer) -> None:
            if result.exception is not None:
                answer.set_exception(result.exception)
            else:
                answer.set(result.value[0])

        asked.rawlink(told)
        return answer

    def _create(
        self, operation: Operation, answer: Answer, *, makepath: bool, may_exist: bool = False
    ) -> None:
        def told(result: Answer) -> None:
            error = result.exception
            if isinstance(error, NoNodeError) and makepath:
                above = Answer()
                above.rawlink(made)
                parent = operation.path.rpartition("/")[0]
                self._create(Operation("create", parent), above, makepath=True, may_exist=True)
            elif isinstance(error, NodeExistsError) and may_exist:
                answer.set(self._shown(operation.path))
            elif error is not None:
                answer.set_exception(error)
            else:
                answer.set(self._shown(result.value[0]))

        def made(above: Answer) -> None:
            if above.exception is not None:
                answer.set_exception(above.exception)
            else:
                self.write(operation).rawlink(told)

        self.write(operation).rawlink(told)

    def _ask(self, name: str, arguments: Any) -> Answer:
        answer = Answer()
        self._send(name, arguments, answer)
        return answer

    def _send(self, name: str, arguments: Any, answer: Answer) -> None:
        if not self.connected or self._messages is None:
            self._waiting.append((name, arguments, answer))
            return
        self._next += 1
        self._asked[self._next] = answer
        self._messages.send("call", self._next, name, arguments)

    # How it stays connected.

    async def _stay_connected(self) -> None:
        turn = 0
        while not self._stopped:
            host, _, port = self._addresses[turn % len(self._addresses)]
            turn += 1
            self._changed.clear()
            try:
                async with asyncio.timeout(self._timeout_s * 2 / 3):
                    make = partial(Messages, self._taken, self._lost)
                    _, messages = await self._loop.create_connection(make, host, int(port))
                    if self._ended.is_set():  # It was stopped meanwhile.
                        messages.abort()
                        return
                    self._messages = messages
                    messages.send("connect", self._session, self._timeout_s)
                    await self._changed.wait()
            except (OSError, TimeoutError):
                if self._messages is not None:
                    self._messages.abort()
                    self._messages = None
            else:
                while self.connected:
                    self._changed.clear()
                    await self._changed.wait()
            await SystemClock().sleep(BACKOFF_S)

    def _taken(self, messages: Messages, message: Any) -> None:
        if messages is not self._messages:
            return
        self._heard_at = self._loop.time()
        kind, *arguments = message
        if kind == "answer":
            xid, result, error = arguments
            answer = self._asked.pop(xid, None)
            if answer is not None and error is not None:
                answer.set_exception(error)
            elif answer is not None:
                answer.set(result)
        elif kind == "event":
            _, event, path = arguments
            shown = WatchedEvent(event, KeeperState.CONNECTED, self._shown(path))
            for watcher in self._data_watchers.pop(path, ()):
                watcher(shown)
        elif kind == "connected":
            self._session = arguments[0]
            self.connected = True
            self._ping(messages)
            self._tell(KazooState.CONNECTED)
            waiting, self._waiting = self._waiting, deque()
            for each in waiting:
                self._send(*each)
            self._changed.set()
        elif kind == "expired":
            self._session = 0
            self._tell(KazooState.LOST)
            self._fail_all()
            self._changed.set()

    def _ping(self, messages: Messages) -> None:
        if messages is not self._messages or not self.connected:
            return
        if self._loop.time() - self._heard_at > self._timeout_s * 2 / 3:
            messages.abort()
            self._lost(messages)
            return
        messages.send("ping")
        self._loop.call_later(self._timeout_s / 3, self._ping, messages)

    def _lost(self, messages: Messages) -> None:
        if messages is not self._messages:
            return
        self._messages = None
        was_connected, self.connected = self.connected, False
        if self._stopped:
            self._ended.set()
        elif was_connected:
            self._fail_all()
            self._tell(KazooState.SUSPENDED)
        self._changed.set()

    def _fail_all(self) -> None:
        asked, self._asked = self._asked, {}
        waiting, self._waiting = self._waiting, deque()
        for answer in [*asked.values(), *(each[2] for each in waiting)]:
            answer.set_exception(ConnectionLoss())

    def _tell(self, state: str) -> None:
        self._listeners = [each for each in self._listeners if each(state) is not True]


class _Transaction:
    """Writes that happen together or not at all."""

    def __init__(self, client: SimulatedKazoo) -> None:
        self._client = client
        self._operations: list[Operation] = []

    def delete(self, path: str, version: int = -1) -> None:
        self._operations.append(Operation("delete", self._client.at(path), b"", version))

    def create(self, path: str, value: bytes = b"", *, ephemeral: bool = False) -> None:
        self._operations.append(
            Operation("create", self._client.at(path), value, ephemeral=ephemeral)
        )

    def commit_async(self) -> Answer:
        return self._client.write(*self._operations)
