"""No two files of a room need each other: each can be read, and changed, before the next one."""

import ast

import pytest
from architecture.source import files, tree

# Rooms whose files still import each other in a circle, and which do.
CIRCLES: dict[str, list[set[str]]] = {}


def module(name: str) -> str:
    return ".".join(("magnetar", *name.removesuffix(".py").removesuffix("/__init__").split("/")))


MODULES = {module(name): name for name in files()}


def imports(name: str) -> set[str]:
    """The files that a file imports, wherever in it, those for a type checker too."""
    package = module(name).split(".")
    if not name.endswith("__init__.py"):
        package.pop()
    found = set()
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *filter(None, [node.module])])
            inner = {f"{source}.{alias.name}" for alias in node.names}
            found |= inner & MODULES.keys() or {source}
    return {MODULES[each] for each in found & MODULES.keys()} - {name}


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The sets of files that reach each other."""
    reached = {name: _reach(graph, name) for name in graph}
    found = {frozenset(each for each in reached[name] if name in reached[each]) for name in graph}
    return sorted((set(each) for each in found if each), key=sorted)


def _reach(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    pending = [start]
    while pending:
        for name in graph[pending.pop()] & graph.keys() - found:
            found.add(name)
            pending.append(name)
    return found


ROOMS = sorted({name.rpartition("/")[0] for name in files()} - {""})


@pytest.mark.parametrize("room", ROOMS)
def test_no_files_of_a_room_import_each_other(room):
    inside = {name: imports(name) for name in files() if name.startswith(f"{room}/")}
    assert circles(inside) == CIRCLES.get(room, []), (
        "cut where one can be understood alone: let it take values and return events"
    )


def test_a_circle_is_found():
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set()}
    assert circles(graph) == [{"a", "b", "c"}]
    assert imports("client/consumers/receiver.py") >= {"client/consumers/topic_consumer.py"}
