"""A client's credentials, and the identity that they prove."""

from typing import NamedTuple


class Credentials(NamedTuple):
    """A client's credentials. ``certificate`` is the common name that TLS has verified."""

    method: str
    data: bytes = b""
    certificate: str | None = None


class Identity(NamedTuple):
    """Who a client is, and until when that holds: milliseconds since the epoch; None: for ever."""

    role: str
    expires_at_ms: int | None = None
    tenant: str = ""  # Whose own issuer says so; "": it is the broker's operator who does.
