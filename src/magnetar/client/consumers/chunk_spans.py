"""Where the chunked messages lie that the application has not acknowledged yet. Pure.

The chunks of a message lie apart, with other messages between them. The application gets those
first, and a cumulative acknowledgement of one of them must not take in chunks that lie before it:
the message would be lost with the next reconnection.
"""

from typing import Final

from magnetar.model.position import Position

SPANS_MAX: Final = 10_000
"""Messages that are known; the oldest is forgotten, and a mark may then take it in."""


class ChunkSpans:
    """The first and last entries of chunked messages that wait for an acknowledgement."""

    def __init__(self, spans_max: int = SPANS_MAX) -> None:
        self._spans_max = spans_max
        self._lasts: dict[Position, Position | None] = {}  # By the first entry; None: incomplete.

    def __bool__(self) -> bool:
        return bool(self._lasts)

    def begin(self, first: Position) -> None:
        """The first chunk of a message came."""
        self._lasts[first] = None
        if len(self._lasts) > self._spans_max:
            del self._lasts[next(iter(self._lasts))]

    def complete(self, first: Position, last: Position) -> None:
        """The last chunk came."""
        if first in self._lasts:
            self._lasts[first] = last

    def end(self, first: Position) -> bool:
        """The message is acknowledged, or was given up. False: it is not known."""
        return self._lasts.pop(first, first) != first

    def acknowledged_up_to(self, mark: Position) -> Position | None:
        """Forget the messages that a mark acknowledges.

        Returns the first entry of those that it must not take in, if there are any.
        """
        for first in [f for f, last in self._lasts.items() if last is not None and last <= mark]:
            del self._lasts[first]
        return min((first for first in self._lasts if first <= mark), default=None)

    def forget_incomplete(self) -> None:
        """The broker sends again what is not acknowledged."""
        self._lasts = {first: last for first, last in self._lasts.items() if last is not None}

    def clear(self) -> None:
        self._lasts.clear()
