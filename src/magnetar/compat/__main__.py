"""Runs a program for ``pulsar-client`` unchanged: ``python -m magnetar.compat PROGRAM [...]``.

In it, ``import pulsar`` brings ``magnetar.compat``.
"""

import runpy
import sys
from pathlib import Path

from .stand_in import stand_in


def main() -> None:
    """Run the program that is named on the command line, as Python would."""
    if len(sys.argv) < 2:
        sys.exit("usage: python -m magnetar.compat PROGRAM [ARGUMENTS]")
    stand_in()
    program = sys.argv[1]
    sys.argv = sys.argv[1:]
    sys.path.insert(0, str(Path(program).resolve().parent))
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
