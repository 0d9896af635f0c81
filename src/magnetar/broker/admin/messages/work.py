"""What of a broker is spent on operators' messages at once."""

import asyncio
from collections.abc import Callable
from typing import Final

from magnetar.broker.admin.errors import Rejection

READERS_MAX: Final = 2
"""Pages that are looked for at the same time; others wait."""
LISTENERS_MAX: Final = 16
"""Clients that are told what is published as it happens."""


class MessageWork:
    """There is one in a broker."""

    def __init__(self) -> None:
        self.reading = asyncio.Semaphore(READERS_MAX)
        self._listeners: set[object] = set()

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    def listen(self) -> Callable[[], None]:
        """Count one who listens; what is returned counts it no more, and may be called again.

        Raises Rejection.
        """
        if len(self._listeners) >= LISTENERS_MAX:
            raise Rejection(
                503, f"{LISTENERS_MAX} clients follow messages, which is the most: close some"
            )
        listener = object()
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)
