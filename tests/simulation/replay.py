"""Seeds in a process of their own, in which nothing of them is left behind."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
FOUND = 3
"""How ``simulation.run`` ends where something was found."""


def replay(*arguments, **environment):
    """What ``simulation.run`` prints, and whether it found something."""
    ran = subprocess.run(
        [sys.executable, "-m", "simulation.run", *map(str, arguments)],
        cwd=TESTS,
        check=False,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert ran.returncode in {0, FOUND}, ran.stderr
    return ran.stdout, ran.returncode == FOUND
