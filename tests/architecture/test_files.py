"""Every file is short, has its test, and says what it is."""

import ast

import pytest
from architecture.source import SOURCE, TESTS, files, lines, tree

LINES_MAX = 500

# Tested elsewhere than in a unit test of their own name, and where.
TESTED_ELSEWHERE = {
    "__init__.py": "names only",
    "errors.py": "classes only; tests/architecture/test_error_tables.py walks the tree",
    "storage/metadata/store.py": "a contract; tests/contract runs every implementation",
    "storage/ledger/store.py": "a contract; tests/contract runs every implementation",
    "broker/topics/outlet.py": "a contract; broker/session.py satisfies it",
    "testing/plugin.py": "tests/compatibility stands on its fixtures",
    "testing/processes.py": "tests/crash and tests/compatibility start and kill it",
}


def plain_values(name: str) -> bool:
    """Whether a file only declares: no function bodies beyond docstrings and ``...``."""
    return not any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in ast.walk(tree(name))
    )


@pytest.mark.parametrize("name", files())
def test_no_file_is_too_long(name):
    assert lines(name) <= LINES_MAX, f"{name}: split it where it would want a heading"


@pytest.mark.parametrize("name", files())
def test_every_file_has_its_unit_test(name):
    if name in TESTED_ELSEWHERE or name.endswith("/__init__.py") or plain_values(name):
        return
    folder, _, file = name.rpartition("/")
    expected = TESTS / "unit" / folder / f"test_{file}"
    assert expected.exists(), (
        f"write {expected.relative_to(TESTS.parent)}, or say in TESTED_ELSEWHERE who tests {name}"
    )


@pytest.mark.parametrize("name", sorted(TESTED_ELSEWHERE))
def test_exceptions_name_files_that_exist_and_need_them(name):
    assert (SOURCE / name).exists(), f"{name} is gone: take it out of TESTED_ELSEWHERE"
    folder, _, file = name.rpartition("/")
    assert not (TESTS / "unit" / folder / f"test_{file}").exists(), (
        f"{name} has a unit test now: take it out of TESTED_ELSEWHERE"
    )


@pytest.mark.parametrize("name", files())
def test_every_file_says_what_it_is(name):
    assert ast.get_docstring(tree(name)), f"{name}: begin with one line saying what it is"
