"""Backpressure on one client: its socket is read only while there is no reason to pause. Pure."""

from enum import Flag, auto
from typing import Final, Protocol


class PauseReason(Flag):
    """Why a client's socket is not read."""

    PENDING_SENDS = auto()  # Too many of its sends are not stored yet.
    PENDING_REQUESTS = auto()  # Too many of its requests are not answered yet.
    UNREAD_ANSWERS = auto()  # It does not read what the broker answers.
    PUBLISH_RATE = auto()  # It publishes faster than it may.
    MANY_COMMANDS = auto()  # It sent many commands at once: other clients are served first.


_NO_REASON: Final = PauseReason(0)
_BY_BROKER: Final = (
    PauseReason.PENDING_SENDS | PauseReason.PENDING_REQUESTS | PauseReason.PUBLISH_RATE
)


class Readable(Protocol):
    """A transport, as far as reading goes."""

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class ReadPause:
    """Pauses reading for the first reason, and resumes it when the last reason is gone."""

    __slots__ = ("_closed", "_reasons", "_transport")

    def __init__(self, transport: Readable) -> None:
        self._transport = transport
        self._reasons = _NO_REASON
        self._closed = False

    @property
    def caused_by_broker(self) -> bool:
        """Whether reading waits for the broker, and not for the client."""
        return bool(self._reasons & _BY_BROKER)

    def pause(self, reason: PauseReason) -> None:
        if not self._reasons and not self._closed:
            self._transport.pause_reading()
        self._reasons |= reason

    def resume(self, reason: PauseReason) -> None:
        """Take a reason away, which need not have been there."""
        if reason in self._reasons:
            self._reasons ^= reason
            if not self._reasons and not self._closed:
                self._transport.resume_reading()

    def close(self) -> None:
        """Leave the transport alone from now on, since the connection ends."""
        self._closed = True
