"""CI runs the tests of whatever calls the inner loops a second time, with the plain ones."""

import ast
import re

import pytest
from architecture.source import ROOT, files, tree
from architecture.test_files import TESTED_ELSEWHERE, unit_test_of

SAY_WHICH = {  # These only tell which build is in use.
    "tools/cli.py",
    "tools/doctor/machine.py",
    "tools/standalone.py",
}


def second_pass() -> list[str]:
    """What ``.ci/run`` runs with the plain loops."""
    return re.search(r'^again="([^"]*)"', (ROOT / ".ci/run").read_text(), re.MULTILINE)[1].split()


def uses_loops(name: str) -> bool:
    """Whether a file imports a loop, or something else of the room that has them."""
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.ImportFrom) and not node.level:
            module = str(node.module)
            of_room = [one.name for one in node.names] if module == "magnetar" else [module]
            if "inner" in of_room or module.startswith("magnetar.inner"):
                return True
        if isinstance(node, ast.Import) and any("magnetar.inner" in one.name for one in node.names):
            return True
    return False


def callers() -> list[str]:
    room = ("inner/", "proto/")
    return [name for name in files() if not name.startswith(room) and uses_loops(name)]


def test_the_tests_of_every_caller_run_again():
    assert len(callers()) > 20
    again = second_pass()
    for name in set(callers()) - SAY_WHICH:
        tests = TESTED_ELSEWHERE.get(name, "").split(",")[0] or unit_test_of(name)
        assert any(tests.startswith(place) for place in again), f"{tests} of {name}: add it"


def test_exceptions_are_callers():
    assert set(callers()) >= SAY_WHICH


@pytest.mark.parametrize("place", second_pass())
def test_what_runs_again_is_there(place):
    assert (ROOT / place.removeprefix("--ignore=")).exists()
