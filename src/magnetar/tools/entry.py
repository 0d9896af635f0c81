"""Where the ``magnetar`` command begins: it says in a line when only the client is installed."""

import sys

from magnetar.errors import NotReady
from magnetar.extras import check_broker


def main() -> None:
    """Run the command line, as ``magnetar.tools.cli.main``."""
    try:
        check_broker()
    except NotReady as error:
        sys.exit(f"magnetar: {error}")
    from magnetar.tools import cli  # noqa: PLC0415 - it imports what may be missing.

    cli.main()
