"""Hands messages to a listener of an application, unless it is paused."""

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from magnetar.client.message import Message as OurMessage

from .message import Message, wrapped
from .schema.schema import Schema

log = logging.getLogger(__name__)
R = TypeVar("R")


class Listening(Generic[R]):
    """One message after the other, in order; what comes while it is paused is kept.

    What is kept is bounded by the queue of the consumer, whose broker sends no more then.
    """

    def __init__(
        self, listener: Callable[[R, Message], object], receiver: R, schema: Schema
    ) -> None:
        """``receiver`` is their consumer or reader."""
        self._listener = listener
        self._receiver = receiver
        self._schema = schema
        self._kept: deque[OurMessage[Any]] = deque()
        self._paused = False
        self._calling = threading.RLock()

    def hand(self, _: object, message: OurMessage[Any]) -> None:
        """What our client calls with each message."""
        with self._calling:
            self._kept.append(message)
            self.go_on()

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        """Then ``go_on`` is to be called, in another thread than the application's."""
        self._paused = False

    def go_on(self) -> None:
        """Hand over what was kept."""
        with self._calling:
            while self._kept and not self._paused:
                message = self._kept.popleft()
                try:
                    self._listener(self._receiver, wrapped(message, self._schema))
                except Exception:
                    log.exception("listener.failed message=%s", message.message_id)
