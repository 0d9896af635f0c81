"""The source tree as data, for the tests of its order."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "magnetar"
TESTS = ROOT / "tests"
GENERATED = "proto/"


@cache
def files() -> list[str]:
    """Every source file that people write, relative to the package."""
    found = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
    return [name for name in found if not name.startswith(GENERATED)]


@cache
def tree(name: str) -> ast.Module:
    return ast.parse((SOURCE / name).read_text(), name)


def lines(name: str) -> int:
    return len((SOURCE / name).read_text().splitlines())


@cache
def imported(name: str) -> set[str]:
    """The first names of all modules a file imports, wherever in it."""
    found = set()
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.add(node.module.partition(".")[0])
    return found


@cache
def calls(name: str) -> list[tuple[int, str]]:
    """Line and dotted name of everything called by a plain or dotted name."""
    found = []
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Call):
            dotted = _dotted(node.func)
            if dotted:
                found.append((node.lineno, dotted))
    return found


@cache
def functions(name: str) -> set[str]:
    """``function``, ``Class`` and ``Class.method`` for all that a file defines at those levels."""
    found = set()
    for node in tree(name).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}.{inner.name}"
                for inner in node.body
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
            }
    return found


def members() -> dict[str, set[str]]:
    """By the name of each class, wherever it is: its methods and fields."""
    return _known()[0]


def words() -> set[str]:
    """Every name that the code, its tests, benchmarks and settings use, and its log's events."""
    return _known()[1]


@cache
def _known() -> tuple[dict[str, set[str]], set[str]]:
    """Both in one reading: parsing all files takes seconds, and keeping them half a gigabyte."""
    classes: dict[str, set[str]] = {}
    found = {part for name in python_files() for part in Path(name).with_suffix("").parts}
    for table in SOURCE.rglob("*.txt"):  # Lines of metrics and verbs, known by their first column.
        found |= {line.partition(" ")[0] for line in table.read_text().splitlines()}
    for node in _everywhere():
        if isinstance(node, ast.ClassDef):
            classes.setdefault(node.name, set()).update(_members_of(node))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg | ast.keyword):
            found.add(node.arg or "")
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.alias):
            found |= set(node.name.split("."))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value.partition(" ")[0])
    return classes, found


def _members_of(node: ast.ClassDef) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            yield inner.name
        elif isinstance(inner, ast.Attribute | ast.Name):
            yield inner.attr if isinstance(inner, ast.Attribute) else inner.id


@cache
def python_files() -> list[str]:
    """Every Python file but the tests of this folder, which name what must not exist."""
    folders = ("src", "tests", "bench", "examples", "generate")
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    found += sorted(ROOT.glob("*.py"))
    here = Path(__file__).parent
    return [path.relative_to(ROOT).as_posix() for path in found if path.parent != here]


def _everywhere() -> Iterator[ast.AST]:
    for name in python_files():
        yield from ast.walk(ast.parse((ROOT / name).read_text()))


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value)
        return f"{inner}.{node.attr}" if inner else node.attr
    return ""
