"""A view of a topic as a table: the last value of each key."""

from collections.abc import Callable
from typing import Any

from magnetar.client import blocking

from .callbacks import Callbacks
from .errors import raises_theirs
from .schema.registered import registered
from .schema.schema import Schema


class TableView:
    """Made by ``Client.create_table_view``."""

    _callbacks: Callbacks
    _opened: set[object]

    def __init__(
        self,
        table_view: blocking.TableView[Any],
        topic: str,
        subscription: str | None,
        schema: Schema,
    ) -> None:
        """``table_view`` is our client's."""
        self._table_view = table_view
        self._topic = topic
        self._subscription = subscription
        self._schema = schema
        self._encoded = registered(schema) is None  # Then our client gives bytes, not values.

    @raises_theirs
    def get(self, key: str) -> Any | None:
        """The value of a key; None when there is none. Raises why it cannot be decoded."""
        value = self._table_view.get(key)
        undecodable = self._table_view.undecodable.get(key) if value is None else None
        if undecodable is not None:
            raise undecodable
        return None if value is None else self._decoded(value)

    def for_each(self, callback: Callable[[str, Any], None]) -> None:
        """Call ``callback(key, value)`` for everything in the table."""
        self._table_view.for_each(lambda key, value: callback(key, self._decoded(value)))

    @raises_theirs
    def for_each_and_listen(self, callback: Callable[[str, Any], None]) -> None:
        """The same, and for everything that is added or changed from now on.

        Those are called back in a thread of the client. A key that is removed has the value that
        the schema makes of no bytes.
        """
        self._table_view.for_each_and_listen(
            lambda key, value: self._callbacks.put(self._tell, callback, key, value)
        )
        self._callbacks.drain()

    @raises_theirs
    def close(self) -> None:
        """Follow the topic no more."""
        self._opened.discard(self)
        self._table_view.close()

    def __len__(self) -> int:
        return len(self._table_view)

    def __str__(self) -> str:
        if self._subscription is None:
            return f"TableView(topic={self._topic})"
        return f"TableView(topic={self._topic}, subscription={self._subscription})"

    __repr__ = __str__

    def _decoded(self, value: Any) -> Any:
        return self._schema.decode(value) if self._encoded else value

    def _tell(self, callback: Callable[[str, Any], None], key: str, value: Any) -> None:
        callback(key, self._schema.decode(b"") if value is None else self._decoded(value))
