"""Where the worker's functions are written down: a topic that one worker at a time may write."""

import logging
from typing import Final, Self

from magnetar.client.client import Client
from magnetar.client.producers.producer import Producer
from magnetar.clock import Clock
from magnetar.errors import InvalidValue, MagnetarError, NotReady, ProducerBusy, ProducerFenced
from magnetar.functions.worker.metadata import TOPIC, FunctionMetaData
from magnetar.model.producers import ProducerAccessMode

log = logging.getLogger(__name__)

LOOK_S: Final = 0.5


class MetadataTopic:
    """The functions by full name, as they were written last. Made by ``open``."""

    def __init__(self, producer: Producer[bytes], functions: dict[str, FunctionMetaData]) -> None:
        self._producer = producer
        self.functions = functions

    @classmethod
    async def open(cls, client: Client) -> Self:
        """Take the topic, and read it. Raises NotReady when another worker has it."""
        try:
            producer = await client.create_producer(TOPIC, access_mode=ProducerAccessMode.EXCLUSIVE)
        except (ProducerFenced, ProducerBusy) as error:
            raise NotReady(
                f"another functions worker runs with this broker ({error}): stop that one first"
            ) from error
        async with await client.create_table_view(TOPIC) as kept:
            found = {}
            for fqfn, data in kept.items():
                try:
                    found[fqfn] = FunctionMetaData.decode(data)
                except InvalidValue as error:
                    log.error("function.unreadable %s %s", fqfn, error)  # noqa: TRY400
        return cls(producer, found)

    async def put(self, record: FunctionMetaData) -> None:
        """Write a function down; when this returns it stays."""
        await self._producer.send(record.encode(), key=record.config.fqfn)
        self.functions[record.config.fqfn] = record

    async def forget(self, fqfn: str) -> None:
        """Write down that there is no such function."""
        await self._producer.send(b"", key=fqfn)
        del self.functions[fqfn]

    async def lost(self, clock: Clock) -> NotReady:
        """Wait until another worker has taken the topic, or it is gone: why nothing is written."""
        while True:
            await clock.sleep(LOOK_S)
            try:
                await self._producer.ready()
            except MagnetarError as error:
                return NotReady(f"another functions worker has taken over from this one: {error}")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._producer.close()
