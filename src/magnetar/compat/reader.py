"""A reader with the names and behaviour of ``pulsar.Reader``, over ours for threads."""

from collections.abc import Callable

from magnetar.client import blocking

from .checks import check_type
from .consumer import seek
from .enums import Result
from .errors import exception, raises_theirs
from .listening import Listening
from .message import Message, wrapped
from .message_id import MessageId
from .schema.schema import Schema


class Reader:
    """Reads a topic from any place. Made by ``Client.create_reader``."""

    _reader: blocking.Reader
    _schema: Schema
    _listening: "Listening[Reader] | None" = None
    _opened: set[object]
    _inclusive = False  # Whether ``seek`` goes to the message itself.

    def topic(self) -> str:
        """The full name of the topic."""
        return self._reader.topic

    @raises_theirs
    def read_next(self, timeout_millis: int | None = None) -> Message:
        """The next message. Raises Timeout when there is none in so many milliseconds."""
        if self._listening is not None:
            raise exception(Result.InvalidConfiguration, "read_next: there is a listener")
        if timeout_millis is None:
            return wrapped(self._reader.receive(), self._schema)
        check_type(int, timeout_millis, "timeout_millis")
        return wrapped(self._reader.receive(max(timeout_millis, 0) / 1000), self._schema)

    @raises_theirs
    def has_message_available(self) -> bool:
        """Whether ``read_next`` would return without another message being published."""
        return self._reader.has_message_available()

    @raises_theirs
    def seek(self, messageid: MessageId | int) -> None:
        """Go behind a message, or to a time in milliseconds since the epoch.

        With ``start_message_id_inclusive`` it goes to the message itself.
        """
        seek(self._reader, messageid, inclusive=self._inclusive)

    @raises_theirs
    def close(self) -> None:
        """Detach. May be called again."""
        self._opened.discard(self)
        self._reader.close()

    def is_connected(self) -> bool:
        """Whether it is attached to the brokers of all its topics."""
        return self._reader.connected


ReaderListener = Callable[[Reader, Message], object]
