"""Names of functions for the shell's completion; none where nobody answers."""

import click

from magnetar.errors import MagnetarError
from magnetar.tools.connection import Connection
from magnetar.tools.functions.api import FunctionsApi

_TIMEOUT_S = 1.0


def complete_name(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The functions of the namespace whose names begin so."""
    given = ctx.params
    try:
        api = FunctionsApi(Connection(given).api(timeout_s=_TIMEOUT_S))
        names = api.names(given.get("tenant") or "public", given.get("namespace") or "default")
    except MagnetarError:
        return []
    return [name for name in names if name.startswith(incomplete)]
