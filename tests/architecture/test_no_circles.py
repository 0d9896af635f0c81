"""No two files need each other: each can be read, and changed, before the next one."""

import ast

from architecture.source import files, tree


def module(name: str) -> str:
    parts = ["magnetar", *name.removesuffix(".py").split("/")]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


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
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                found.add(inner if inner in MODULES else source)
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


def test_no_files_import_each_other():
    assert circles({name: imports(name) for name in files()}) == [], (
        "cut where one can be understood alone: let it take values and return events"
    )


def test_a_circle_is_found():
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set()}
    assert circles(graph) == [{"a", "b", "c"}]
    assert imports("client/consumers/receiver.py") >= {"client/consumers/topic_consumer.py"}
