"""What a client shows, and who that says it is."""

from typing import NamedTuple


class Credentials(NamedTuple):
    """What a client shows. ``certificate`` is the common name in the one that TLS has verified."""

    method: str
    data: bytes = b""
    certificate: str | None = None


class Identity(NamedTuple):
    """Who a client is, and until when that holds: milliseconds since the epoch; None: for ever."""

    role: str
    expires_at_ms: int | None = None
    tenant: str = ""  # Whose own issuer says so; "": it is the broker's operator who does.
