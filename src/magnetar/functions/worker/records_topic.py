"""A topic of the latest record of each key: all workers follow it, and one at a time writes it."""

import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final, Generic, Self, TypeVar

from magnetar.client.client import Client
from magnetar.client.consumers.table_view import TableView
from magnetar.client.producers.producer import Producer
from magnetar.errors import InvalidValue, NotReady, ProducerBusy, ProducerFenced
from magnetar.model.producers import ProducerAccessMode

log = logging.getLogger(__name__)

Record = TypeVar("Record")
READ_TIMEOUT_S: Final = 30.0


class RecordsTopic(Generic[Record]):
    """The records by key. Made by ``open``."""

    def __init__(
        self,
        client: Client,
        view: TableView[bytes],
        decode: Callable[[bytes], Record],
    ) -> None:
        self.records: dict[str, Record] = {}
        self.changed: Callable[[str], object] = _nothing
        """Called with the key of each record that changes, wherever it was written."""
        self._client = client
        self._view = view
        self._decode = decode
        self._producer: Producer[bytes] | None = None
        view.for_each_and_listen(self._apply)

    @classmethod
    async def open(
        cls,
        client: Client,
        topic: str,
        decode: Callable[[bytes], Record],
        stack: AsyncExitStack,
    ) -> Self:
        """Read the topic, and follow it until the stack closes. ``decode`` raises InvalidValue."""
        view = await stack.enter_async_context(await client.create_table_view(topic))
        opened = cls(client, view, decode)
        stack.push_async_callback(opened.release)
        return opened

    async def take(self) -> None:
        """Become the one that writes, and know all that was written before.

        Raises NotReady while another does.
        """
        topic = self._view.topic
        try:
            self._producer = await self._client.create_producer(
                topic, access_mode=ProducerAccessMode.EXCLUSIVE
            )
        except (ProducerFenced, ProducerBusy) as error:
            raise NotReady(f"another functions worker writes to {topic}: {error}") from error
        await self._view.refresh(READ_TIMEOUT_S)

    async def release(self) -> None:
        """Write no more."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.close()

    async def check(self) -> None:
        """Raises what keeps this worker from writing, such as that another has taken the topic."""
        await self._writer().ready()

    async def put(self, key: str, data: bytes) -> None:
        """Write a record down; empty data deletes it. When this returns it stays, and is known."""
        await self._writer().send(data, key=key)
        await self.refresh()

    async def refresh(self) -> None:
        """Know everything that was written before this call. Raises TimedOut."""
        await self._view.refresh(READ_TIMEOUT_S)

    def _writer(self) -> Producer[bytes]:
        if self._producer is None:
            raise NotReady("Leader not yet ready. Please retry again")
        return self._producer

    def _apply(self, key: str, data: bytes | None) -> None:
        if data:
            try:
                self.records[key] = self._decode(data)
            except InvalidValue as error:
                log.error("functions.unreadable %s %s", key, error)  # noqa: TRY400
                return
        else:
            self.records.pop(key, None)
        self.changed(key)


def _nothing(_key: str) -> None: ...
