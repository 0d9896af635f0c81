"""Which pages in a browser may change something here: only those that this server sent. Pure.

A browser says with ``Origin`` where a page came from, and with ``Host`` what it believes to talk
to. A page from elsewhere has another origin. A page whose name was made to point here after it was
loaded (DNS rebinding) has the same one, so that the name must be one that nobody else can take: an
IP address, a name of this machine, or the advertised address.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from magnetar.model.broker_address import LOOPBACK_NAMES


def is_own_page(origin: str, host: str, advertised: str) -> bool:
    """Whether a page of ``origin`` came from here, by the ``Host`` that it asks.

    ``advertised`` is a host name, or "" where there is none.
    """
    scheme, _, authority = origin.partition("://")
    if scheme not in ("http", "https") or not authority or authority.lower() != host.lower():
        return False
    try:
        name = urlsplit(origin).hostname or ""
    except ValueError:
        return False
    return name in LOOPBACK_NAMES or name == advertised.lower() or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
