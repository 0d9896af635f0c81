"""inner/__init__.py: which build of the loops is taken, and that both have the same ones."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from unit.inner.builds import compiled, needs_compiled

from magnetar import inner
from magnetar.inner.plain import loops as plain

FOLDER = Path(inner.__file__).parent / "compiled"


def build_with(value):
    """What a process with this in its environment takes, or the last line of its complaint."""
    environment = {name: text for name, text in os.environ.items() if name != "MAGNETAR_INNER"}
    if value is not None:
        environment["MAGNETAR_INNER"] = value
    command = [sys.executable, "-c", "from magnetar import inner; print(inner.BUILD)"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).strip().splitlines()[-1]


def test_every_loop_comes_from_one_build():
    taken = compiled if inner.BUILD == "compiled" else plain
    for name in plain.__all__:
        assert getattr(inner, name) is getattr(taken, name)


@needs_compiled
def test_both_builds_have_the_same_loops():
    loops = {name for name in dir(compiled) if not name.startswith("_") and name.islower()}
    assert loops == set(plain.__all__)


@needs_compiled
def test_the_compiled_loops_are_built_from_these_sources():
    data = b"".join(path.read_bytes() for path in sorted(FOLDER.glob("*.[ch]")))
    built = hashlib.sha256(data).hexdigest()[:16]
    assert built == compiled.SOURCES, "build them again: make setup"


@pytest.mark.parametrize("value", ["plain", ""])
def test_the_environment_chooses(value):
    default = "plain" if compiled is None else "compiled"
    assert build_with(value) == value or default
    assert build_with(None) == default


def test_compiled_loops_are_insisted_on():
    told = build_with("compiled")
    assert told == "compiled" if compiled else "make setup" in told


def test_another_value_is_refused():
    assert "MAGNETAR_INNER='fast' (environment): say plain or compiled" in build_with("fast")
