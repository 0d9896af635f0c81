"""Pure files decide and compute: time, chance and bytes from outside arrive as arguments."""

import ast
import re

from architecture.source import files, imported, tree

IMPURE = {"asyncio", "socket", "time", "os", "threading", "random", "logging"}
PURE_ROOMS = (
    "model/",
    "inner/plain/",
    "message/",
    "wire/",
    "broker/dispatch/",
    "broker/cluster/load/",
)


def claims_purity(name: str) -> bool:
    return bool(re.search(r"\bPure[.:]", ast.get_docstring(tree(name)) or ""))


def test_files_that_call_themselves_pure_are():
    impure = {
        name: sorted(imported(name) & IMPURE)
        for name in files()
        if claims_purity(name) and imported(name) & IMPURE
    }
    assert not impure, "let time, chance and I/O arrive as arguments"


def test_every_file_of_a_pure_room_says_so():
    silent = [
        name
        for name in files()
        if name.startswith(PURE_ROOMS)
        and not name.endswith("__init__.py")
        and not claims_purity(name)
    ]
    assert not silent, 'say "Pure." in the docstring, and keep the promise'
