"""A program for the official client runs as it is."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
import helper
import pulsar
print(pulsar.Client.__module__, helper.NAME, sys.argv[1:], __name__)
"""


def test_a_program_runs_with_ours_under_their_name(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text("NAME = 'beside it'\n")
    done = run(str(tmp_path / "program.py"), "one", "two")
    assert done.stdout == "magnetar.compat.client beside it ['one', 'two'] __main__\n"


def test_without_a_program_it_says_how_it_is_used():
    done = run()
    assert done.returncode == 1
    assert "usage: python -m magnetar.compat PROGRAM" in done.stderr


def run(*arguments):
    command = [sys.executable, "-m", "magnetar.compat", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
