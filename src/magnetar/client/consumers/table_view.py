"""A table view: the latest value of each key of a topic, kept up to date."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, Generic, Self

from magnetar.checks import check_timeout
from magnetar.client.leaving import time_to_close
from magnetar.client.message import Message
from magnetar.client.own_loop import check_loop
from magnetar.errors import AlreadyClosed, MagnetarError, TimedOut, UndecodableValue
from magnetar.schemas.schema import T_co
from magnetar.tasks import Closing, Tasks

from .reader import Reader

log = logging.getLogger(__name__)


class TableView(Generic[T_co]):
    """The latest value of each key. Made by ``Client.create_table_view``.

    It is read like a dictionary, at no cost of I/O, and also when it is closed. A message without
    payload removes its key; those without a key are left out. A message that is none of the schema
    removes its key's value, too, since that is the latest no longer: ``undecodable`` has the key.
    """

    def __init__(self, reader: Reader[T_co], *, kept: bool) -> None:
        """``reader`` begins at the first message, and belongs to the table view.

        ``kept`` False: the topic keeps no messages, so that there is nothing to catch up with.
        """
        self._reader = reader
        self._kept = kept
        self._values: dict[str, T_co] = {}
        self._undecodable: dict[str, UndecodableValue] = {}
        self._listeners: list[Callable[[str, T_co | None], object]] = []
        self._applied = asyncio.Event()  # Set when messages were applied, or no more will be.
        self._failure: MagnetarError | None = None
        self._keyless = False  # A message without a key has been logged.
        self._loop = asyncio.get_running_loop()
        self._tasks = Tasks(f"table view of {reader.topic}")
        self._closing = Closing(f"table view of {reader.topic}", self._close)
        self._tasks.spawn("read", self._read())

    @property
    def topic(self) -> str:
        """The full name of the topic."""
        return self._reader.topic

    def get(self, key: str) -> T_co | None:
        """The value of ``key``; None where it has none."""
        return self._values.get(key)

    def keys(self) -> list[str]:
        return list(self._values)

    def values(self) -> list[T_co]:
        return list(self._values.values())

    def items(self) -> list[tuple[str, T_co]]:
        """The keys with their values, as they are now."""
        return list(self._values.items())

    @property
    def undecodable(self) -> dict[str, UndecodableValue]:
        """The keys whose latest message is none of the schema, and why."""
        return dict(self._undecodable)

    def for_each(self, action: Callable[[str, T_co], object]) -> None:
        """Call ``action`` with each key and its value."""
        for key, value in self.items():
            action(key, value)

    def listen(self, action: Callable[[str, T_co | None], object]) -> None:
        """Call ``action`` with each key that changes from now on, and its value; None: it has none.

        It is called on the client's event loop, so it may not wait; what it raises is logged.
        """
        check_loop(self._loop)
        self._listeners.append(action)

    def for_each_and_listen(self, action: Callable[[str, T_co | None], object]) -> None:
        """``for_each``, then ``listen``: nothing in between is missed."""
        check_loop(self._loop)
        self.for_each(action)
        self.listen(action)

    async def refresh(self, timeout_s: float | None = None) -> None:
        """Wait until everything is in that was published before this call.

        Raises TimedOut after ``timeout_s`` seconds, AlreadyClosed, or what ended the reading.
        """
        check_loop(self._loop)
        check_timeout(timeout_s)
        try:
            async with asyncio.timeout(timeout_s):
                await self._catch_up()
        except TimeoutError:
            raise TimedOut(f"{self.topic} was not read to its end within {timeout_s:g} s") from None

    def close(self, timeout_s: float | None = None) -> Coroutine[Any, Any, None]:
        """Follow the topic no longer. As ``Consumer.close``."""
        check_loop(self._loop)
        check_timeout(timeout_s)
        return self._closing(time_to_close(timeout_s))

    def __getitem__(self, key: str) -> T_co:
        return self._values[key]

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"TableView({self.topic}, {len(self)} keys)"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def _close(self, timeout_s: float | None) -> None:
        await self._reader.close(timeout_s)
        await self._tasks.close()

    async def _catch_up(self) -> None:
        unread = await self._reader._last_messages() if self._kept else []
        while True:
            if self._failure is not None:
                raise self._failure
            unread = [
                (part, last, mark)
                for part, last, mark in unread
                if part.incoming.is_behind(last, mark)
            ]
            if not unread:
                return
            self._applied.clear()
            await self._applied.wait()

    async def _read(self) -> None:
        try:
            while True:
                self._apply(await self._reader.receive_many())
                self._applied.set()
        except MagnetarError as error:
            self._failure = error
            if not isinstance(error, AlreadyClosed):
                log.warning("table_view.ended topic=%s error=%s", self.topic, error)
        finally:
            if self._failure is None:
                self._failure = AlreadyClosed(f"the table view of {self.topic} is closed")
            self._applied.set()

    def _apply(self, messages: Iterable[Message[T_co]]) -> None:
        for message in messages:
            key = message.key
            if key is None:
                if not self._keyless:
                    self._keyless = True
                    log.warning("table_view.no_key message=%s", message)
                continue
            value: T_co | None = None
            self._undecodable.pop(key, None)
            try:
                if message.data:
                    value = self._values[key] = message.value
                else:
                    self._values.pop(key, None)
            except UndecodableValue as error:
                self._values.pop(key, None)
                self._undecodable[key] = error
                log.warning(
                    "table_view.undecodable key=%s message=%s error=%s", key, message, error
                )
            for listener in self._listeners:
                self._tell(listener, key, value)

    def _tell(
        self, listener: Callable[[str, T_co | None], object], key: str, value: T_co | None
    ) -> None:
        try:
            listener(key, value)
        except Exception:
            log.exception("table_view.listener_failed topic=%s key=%s", self.topic, key)
