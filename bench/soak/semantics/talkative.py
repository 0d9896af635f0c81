"""The broker as a user runs it, and with its log in full."""

import sys

from magnetar.tools.cli import main

if __name__ == "__main__":
    sys.argv.append("--verbose")
    main()
