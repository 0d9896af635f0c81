"""Reads what a web server answers, up to a size."""

from typing import Protocol

from magnetar.errors import NotReady


class Content(Protocol):
    """The body of an answer, as aiohttp has it."""

    async def readany(self) -> bytes: ...


async def whole(content: Content, size_max: int) -> bytes:
    """All of it. Raises NotReady when it is larger than ``size_max`` bytes."""
    body = bytearray()
    while chunk := await content.readany():
        body += chunk
        if len(body) > size_max:
            raise NotReady(f"a web server answers with more than {size_max} bytes")
    return bytes(body)
