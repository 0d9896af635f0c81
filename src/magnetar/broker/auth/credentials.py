"""Whether a client shows credentials, which this broker does not check yet. Pure."""

from typing import Final

from magnetar.wire.commands import CommandConnect

UNCHECKED: Final = (
    "This broker does not check credentials yet: connect without authentication (auth_method_name "
    "none, no auth_data)"
)
UNCHECKED_HTTP: Final = (
    "This broker does not check credentials yet: ask without authentication (no Authorization "
    "header)"
)
_NO_METHODS: Final = ("", "none")


def shows_credentials(command: CommandConnect) -> bool:
    """Whether a CONNECT has credentials: the client's own, or those that a proxy passes on."""
    methods = {command.auth_method_name, command.original_auth_method}
    return bool(
        command.auth_method
        or command.auth_data
        or command.original_auth_data
        or not methods.issubset(_NO_METHODS)
    )
