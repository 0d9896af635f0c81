"""Whether a client is listened to: only while nobody holds it up. Pure."""

from enum import Flag, auto
from typing import Final, Protocol


class Hold(Flag):
    """Why a client has to wait."""

    SENDS = auto()  # Too many of its sends are not stored yet.
    REQUESTS = auto()  # Too many of its requests are not answered yet.
    ANSWERS = auto()  # It does not read what we answer.
    TURN = auto()  # It asked for much at once: others have their turn.


_NOTHING: Final = Hold(0)


class Readable(Protocol):
    """A transport, as far as reading goes."""

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Listening:
    """Pauses reading at the first hold, and goes on when the last one is lifted."""

    __slots__ = ("_closed", "_holds", "_transport")

    def __init__(self, transport: Readable) -> None:
        self._transport = transport
        self._holds = _NOTHING
        self._closed = False

    @property
    def held(self) -> bool:
        """Nothing is read from the client now."""
        return bool(self._holds)

    @property
    def waits_for_us(self) -> bool:
        """Its silence is our doing: it would be heard if we had stored or answered more."""
        return bool(self._holds & (Hold.SENDS | Hold.REQUESTS))

    def hold(self, why: Hold) -> None:
        if not self._holds and not self._closed:
            self._transport.pause_reading()
        self._holds |= why

    def lift(self, why: Hold) -> None:
        """May be called without a hold."""
        if why in self._holds:
            self._holds ^= why
            if not self._holds and not self._closed:
                self._transport.resume_reading()

    def close(self) -> None:
        """The connection ends; its transport is left alone from now on."""
        self._closed = True
