"""Pure files decide and compute: time, chance and bytes from outside arrive as arguments."""

import ast

import pytest
from architecture.source import files, imported, tree

IMPURE = {"asyncio", "socket", "time", "os", "threading", "random", "logging"}
PURE_ROOMS = ("model/", "message/", "wire/", "broker/dispatch/")


def claims_purity(name: str) -> bool:
    return "Pure." in (ast.get_docstring(tree(name)) or "")


@pytest.mark.parametrize("name", [name for name in files() if claims_purity(name)])
def test_files_that_call_themselves_pure_are(name):
    assert not imported(name) & IMPURE


@pytest.mark.parametrize(
    "name",
    [name for name in files() if name.startswith(PURE_ROOMS) and not name.endswith("__init__.py")],
)
def test_every_file_of_a_pure_room_says_so(name):
    assert claims_purity(name), f'{name}: end its docstring with "Pure.", and keep the promise'
