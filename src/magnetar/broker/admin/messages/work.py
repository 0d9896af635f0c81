"""What of a broker is spent on operators' messages at once."""

import asyncio
from typing import Final

READERS_MAX: Final = 2
"""Pages that are looked for at the same time; others wait."""


class MessageWork:
    """There is one in a broker."""

    def __init__(self) -> None:
        self.reading = asyncio.Semaphore(READERS_MAX)
