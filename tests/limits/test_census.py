"""docs/limits.md lists every limit there is, with its default and a test that shows it."""

import ast
import importlib
import re
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import NamedTuple

from magnetar.broker.config import Config

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "magnetar"
TESTS = ROOT / "tests"
DOCUMENT = ROOT / "docs" / "limits.md"
ROOMS = (
    "auth",
    "broker",
    "client",
    "functions",
    "history",
    "message",
    "model",
    "pipelines",
    "proxy",
    "rest",
    "schemas",
    "spark",
    "storage",
    "wire",
)
# A client's options are its settings again, as keyword arguments without defaults.
REPEATED = re.compile(r"Options$")

NAME = re.compile(r"(?i)_max(?:_|$)|^max_")  # ``max`` alone is the largest of what was seen.
CODE = re.compile(r"`([^`]+)`")
TEST = re.compile(r"([\w/]+\.py)(?:::(\w+))?")
UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
NUMBER = re.compile(r"(-?[\d,]+)(?: (KiB|MiB|GiB))?")


class Limit(NamedTuple):
    """A limit in the source."""

    file: str
    name: str
    values: frozenset[float]  # What it is by default; of several of the name in a file, of each.


class Row(NamedTuple):
    """A line of a table."""

    names: frozenset[str]
    files: frozenset[str]
    defaults: frozenset[float]
    tests: tuple[tuple[str, str], ...]
    text: str


def limits() -> list[Limit]:
    """Constants and fields that are named as a bound."""
    found: dict[tuple[str, str], set[float]] = {}
    for room in ROOMS:
        for path in sorted((SOURCE / room).rglob("*.py")):
            file = path.relative_to(SOURCE).as_posix()
            for owner, name in named(ast.parse(path.read_text())):
                if not REPEATED.search(owner):
                    found.setdefault((file, name), set()).update(value_of(file, owner, name))
    return [Limit(file, name, frozenset(values)) for (file, name), values in found.items()]


def named(tree: ast.Module) -> list[tuple[str, str]]:
    """Class (or nothing) and name of whatever is named as a bound."""
    found = []
    for outer in tree.body:
        body = outer.body if isinstance(outer, ast.ClassDef) else [outer]
        owner = outer.name if isinstance(outer, ast.ClassDef) else ""
        for node in body:
            if isinstance(node, ast.AnnAssign):
                asks = ast.unparse(node.annotation).startswith("Callable")  # It is told elsewhere.
                given = owner and node.value is None  # So it has a row where it is given.
                state = owner and ast.unparse(node.target).startswith("_")
                targets = [] if asks or given or state else [node.target]
            else:
                targets = node.targets if isinstance(node, ast.Assign) else []
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            found += [(owner, name) for name in names if NAME.search(name)]
    return found


def value_of(file: str, owner: str, name: str) -> set[float]:
    """Its default, where it has one."""
    module = importlib.import_module(f"magnetar.{file.removesuffix('.py').replace('/', '.')}")
    if not owner:
        return {getattr(module, name)}
    kind = getattr(module, owner)
    if is_dataclass(kind):
        (field,) = (field for field in fields(kind) if field.name == name)
        return set() if field.default in (MISSING, None) else {field.default}
    value = getattr(kind, "_field_defaults", {}).get(name)
    return set() if value is None else {value}


def rows() -> list[Row]:
    found = []
    for line in DOCUMENT.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("| `") or len(cells) < 4:
            continue
        found.append(
            Row(
                frozenset(CODE.findall(cells[0])),
                frozenset(CODE.findall(cells[1])),
                frozenset(
                    int(number.replace(",", "")) * UNITS[unit]
                    for number, unit in NUMBER.findall(cells[2])
                ),
                tuple(TEST.findall(cells[-1])) if "test_" in cells[-1] else (),
                line,
            )
        )
    return found


ROWS = rows()


def test_every_limit_is_in_the_document_with_its_default():
    found = limits()
    assert len(found) > 80
    complaints = "\n".join(filter(None, map(complaint, found)))
    assert not complaints, complaints


def complaint(limit: Limit) -> str | None:
    mine = [row for row in ROWS if limit.name in row.names and limit.file in row.files]
    if not mine:
        return f"docs/limits.md has no row for `{limit.name}` of `{limit.file}`"
    said = frozenset().union(*(row.defaults for row in mine))
    if limit.values <= said:
        return None
    return f"docs/limits.md has {set(said)} for {limit.name}, {limit.file} has {set(limit.values)}"


def test_every_row_is_of_something_that_there_is():
    assert len(ROWS) > 70
    for row in ROWS:
        check(row)


def check(row: Row) -> None:
    for file in row.files:
        assert (SOURCE / file).is_file(), f"docs/limits.md names {file}, which does not exist"
    text = "\n".join((SOURCE / file).read_text() for file in row.files)
    for name in row.names:
        assert re.search(rf"\b{name}\b", text), f"docs/limits.md: no {name} in {set(row.files)}"
    for file, test in row.tests:
        assert (TESTS / file).is_file(), f"docs/limits.md names tests/{file}, which does not exist"
        assert re.search(rf"def {test}\b", (TESTS / file).read_text()), (
            f"docs/limits.md names {test}, not found in tests/{file}"
        )


def test_every_limit_on_what_others_may_do_has_a_test():
    """Not so how work is cut, and what a field can hold."""
    before = DOCUMENT.read_text().split("## How much at once", maxsplit=1)[0]
    bare = [row.text for row in ROWS if row.text in before and not row.tests]
    assert not bare


def test_every_setting_named_as_a_bound_is_in_the_document():
    named = {name for row in ROWS for name in row.names}
    keys = {key for key, *_ in Config.read().rows() if "max" in key.lower()}
    assert keys <= named
