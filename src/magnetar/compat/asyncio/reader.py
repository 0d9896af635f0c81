"""A reader with the names and behaviour of ``pulsar.asyncio.Reader``."""

from magnetar.client.consumers.reader import Reader as OurReader
from magnetar.compat.message import Message, wrapped
from magnetar.compat.message_id import MessageId
from magnetar.compat.schema.schema import Schema

from .consumer import seek
from .exception import raises_theirs


class Reader:
    """Reads a topic from any place. Made by ``Client.create_reader``."""

    def __init__(self, reader: OurReader, schema: Schema) -> None:
        """``reader`` is our asyncio client's."""
        self._reader = reader
        self._schema = schema
        self._inclusive = False

    @raises_theirs
    async def read_next(self) -> Message:
        """The next message."""
        return wrapped(await self._reader.receive(), self._schema)

    @raises_theirs
    async def has_message_available(self) -> bool:
        """Whether ``read_next`` would return without another message being published."""
        return await self._reader.has_message_available()

    @raises_theirs
    async def seek(self, messageid: MessageId | int) -> None:
        """Go behind a message, or to a time, as a consumer does."""
        await seek(self._reader, messageid, inclusive=self._inclusive)

    @raises_theirs
    async def close(self) -> None:
        """Detach."""
        await self._reader.close()

    def topic(self) -> str:
        """The full name of the topic."""
        return self._reader.topic

    def is_connected(self) -> bool:
        """Whether it is attached to the brokers of all its topics."""
        return self._reader.connected
