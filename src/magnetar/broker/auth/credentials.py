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
    """Its own, or as a proxy those of the client behind it."""
    methods = {command.auth_method_name, command.original_auth_method}
    return bool(
        command.auth_method
        or command.auth_data
        or command.original_auth_data
        or not methods.issubset(_NO_METHODS)
    )
