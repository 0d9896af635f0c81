"""Opens the socket of a connection, over TLS or plain, and says why when it cannot."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Final

from magnetar.client.service_url import host_and_port
from magnetar.errors import ConnectionLost

from .tls import trouble

ADDRESSES_MAX: Final = 16  # That a name has, and that are tried.
REFUSED: Final = "connection refused, nothing listens there"


async def open_transport(
    make: Callable[[], asyncio.BaseProtocol],
    address: str,
    context: ssl.SSLContext | None,
    timeout_s: float,
) -> None:
    """Connect ``make()`` to the first of the name's addresses that answers.

    They share ``timeout_s`` evenly. Raises ConnectionLost, which names the address and the cause.
    """
    host, port = host_and_port(address)
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise ConnectionLost(
            f"cannot connect to {address}: the name {host} is not known ({error})"
        ) from error
    found = found[:ADDRESSES_MAX]
    share_s = timeout_s / len(found)
    causes: dict[str, OSError] = {}
    for family, _, _, _, place in found:
        try:
            async with asyncio.timeout(share_s):
                await loop.create_connection(
                    make,
                    str(place[0]),
                    port,
                    family=family,
                    ssl=context,
                    server_hostname=host if context else None,
                )
        except OSError as error:  # A TimeoutError is one, too.
            causes.setdefault(_cause(error, context, share_s), error)
        else:
            return
    raise ConnectionLost(f"cannot connect to {address}: {'; '.join(causes)}") from next(
        iter(causes.values())
    )


def _cause(error: OSError, context: ssl.SSLContext | None, share_s: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {share_s:g} s"
    if isinstance(error, ConnectionRefusedError):
        return REFUSED
    if context is not None and isinstance(error, ssl.SSLError | ConnectionError):
        return trouble(error)
    return str(error)


def stranger(first: bytes) -> str:
    """What answered in place of a Pulsar broker, by the first bytes it sent; "" when unknown."""
    if first.startswith(b"HTTP/"):
        return "it speaks HTTP: give the broker's own port (6650), or an http:// service URL"
    if first[:1] in {b"\x15", b"\x16"} and first[1:2] == b"\x03":
        return "it speaks TLS: use pulsar+ssl://"
    return ""
