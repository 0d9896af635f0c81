"""Whether a client is listened to: only while nobody holds it up. Pure."""

from collections.abc import Callable
from enum import Enum


class Hold(Enum):
    """Why a client has to wait."""

    SENDS = "sends"  # Too many of its sends are not stored yet.
    REQUESTS = "requests"  # Too many of its requests are not answered yet.
    ANSWERS = "answers"  # It does not read what we answer.


class Listening:
    """Pauses reading at the first hold, and goes on when the last one is lifted."""

    def __init__(self, *, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self._pause = pause
        self._resume = resume
        self._holds: set[Hold] = set()

    @property
    def held(self) -> bool:
        return bool(self._holds)

    @property
    def waits_for_us(self) -> bool:
        """Its silence is our doing: it would be heard if we had stored or answered more."""
        return Hold.SENDS in self._holds or Hold.REQUESTS in self._holds

    def hold(self, why: Hold) -> None:
        if not self._holds:
            self._pause()
        self._holds.add(why)

    def lift(self, why: Hold) -> None:
        """May be called without a hold."""
        if why in self._holds:
            self._holds.remove(why)
            if not self._holds:
                self._resume()
