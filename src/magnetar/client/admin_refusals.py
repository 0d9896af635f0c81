"""Who may do what a role was refused, by the words in which brokers refuse. Pure."""

import re
from enum import Enum
from typing import Final


class Allowed(Enum):
    """Says which roles would not have been refused."""

    SUPERUSER = "superuser"
    ADMIN = "admin"  # Of the tenant; a superuser too.
    GRANTED = "granted"  # And roles that were granted an action.


_OF_ROLE: Final = re.compile(
    r"^Unauthorized to|super-user access|^Don't have permission|^Client is not authorized"
)
_SUPERUSER: Final = re.compile(r"super-user access|SuperUser")
_ADMIN: Final = re.compile(r"PolicyOperation|validateTenantOperation|to administrate resources")
_OPERATION: Final = re.compile(r"for operation \[(\w+)\]")
_GRANTABLE: Final = frozenset(
    {
        "LOOKUP",
        "PRODUCE",
        "CONSUME",
        "SUBSCRIBE",
        "UNSUBSCRIBE",
        "GET_STATS",
        "GET_METADATA",
        "GET_SUBSCRIPTIONS",
        "SKIP",
        "EXPIRE_MESSAGES",
        "PEEK_MESSAGES",
        "RESET_CURSOR",
        "GET_BACKLOG_SIZE",
        "GET_REPLICATED_SUBSCRIPTION_STATUS",
        "SET_REPLICATED_SUBSCRIPTION_STATUS",
        "GET_TOPICS",
        "CLEAR_BACKLOG",
        "PACKAGES",
    }
)
"""The operations that come with an action; for all others one has to administer the tenant."""


def of_role(reason: str) -> bool:
    """Whether it is a role that was refused: Pulsar says 401 of roles that it knows, too."""
    return _OF_ROLE.search(reason) is not None


def allowed(reason: str) -> Allowed:
    """Return the roles that may do what was refused with this reason."""
    if _SUPERUSER.search(reason):
        return Allowed.SUPERUSER
    named = _OPERATION.search(reason)
    if _ADMIN.search(reason) or (named is not None and named[1] not in _GRANTABLE):
        return Allowed.ADMIN
    return Allowed.GRANTED
