"""Which faults are planted where, and which tests are to notice them."""

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from architecture.source import SOURCE
from architecture.test_files import TESTED_ELSEWHERE, unit_test_of
from cosmic_ray.commands.init import init
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec

ROOT = SOURCE.parents[1]
NOT_OURS = ("proto/", "client/blocking.py")  # Made by programs.

OUTSIDE = {
    "broker": (
        "scenarios",
        "golden",
        "unit/broker/handlers",
        "client",
        "security",
        "limits",
        "compatibility",
    ),
    "client": ("client", "compatibility"),
    "compat": ("client", "compatibility"),
    "functions": ("functions", "spark"),
    "history": ("offload",),
    "inner": ("properties",),
    "message": ("properties", "scenarios", "golden", "client"),
    "model": ("properties", "scenarios", "golden"),
    "pipelines": ("spark",),
    "schemas": ("properties", "client"),
    "spark": ("spark",),
    "storage": ("contract", "properties", "faults", "crash"),
    "tools": ("golden/cli", "functions"),
    "wire": ("properties", "scenarios", "golden"),
}
"""The folders of tests that reach a room from outside."""


def changed_last(commits: int) -> list[Path]:
    """The files of the package that the last commits changed, and that are still there."""
    command = ["git", "log", f"-{commits}", "--name-only", "--format=", "--", str(SOURCE)]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = (ROOT / name for name in sorted(set(shown.split())) if name.endswith(".py"))
    return [file for file in files if file.exists() and not _name(file).startswith(NOT_OURS)]


def sample(files: list[Path], count: int, random: Random) -> Iterator[MutationSpec]:
    """Faults at different places, each place of a file's code as likely as any of another's."""
    weights = [len(file.read_text().splitlines()) for file in files]
    places: dict[Path, dict[tuple[int, int], list[MutationSpec]]] = {}
    planted = 0
    while planted < count and any(weights):
        (at,) = random.choices(range(len(files)), weights)
        if files[at] not in places:
            places[files[at]] = _places(files[at])
        if not places[files[at]]:
            weights[at] = 0
            continue
        place = random.choice(sorted(places[files[at]]))
        yield random.choice(places[files[at]].pop(place))
        planted += 1


def tests_of(file: Path, there: Callable[[str], bool]) -> list[str]:
    """What is run one after the other until the fault is noticed: the file's own tests first."""
    name = _name(file)
    own = unit_test_of(name)
    if name in TESTED_ELSEWHERE:
        own = " ".join(re.findall(r"tests/[\w./]*\w", TESTED_ELSEWHERE[name])[:1])
    room, *inside = name.split("/")
    near = "/".join(["tests/unit", room.removesuffix(".py"), *inside[:-1][:1]])
    outside = [f"tests/{folder}" for folder in OUTSIDE.get(room, ())]
    return [tests for tests in dict.fromkeys([own, near, *outside]) if tests and there(tests)]


def _name(file: Path) -> str:
    return file.relative_to(SOURCE).as_posix()


def _places(file: Path) -> dict[tuple[int, int], list[MutationSpec]]:
    idle = set(_idle_lines(ast.parse(file.read_text())))
    found = defaultdict(list)
    with use_db(":memory:", WorkDB.Mode.create) as database:
        init([file], database, {})
        for item in database.work_items:
            (fault,) = item.mutations
            if fault.start_pos[0] not in idle:
                found[fault.start_pos].append(fault)
    return dict(found)


def _idle_lines(tree: ast.Module) -> Iterator[int]:
    """Lines where a fault changes nothing, or ends the import: types, contracts, dataclasses."""
    for node in ast.walk(tree):
        idle = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.ClassDef):
            idle += [each for each in node.decorator_list if "dataclass" in ast.unparse(each)]
            if any("Protocol" in ast.unparse(base) for base in node.bases):
                idle.append(node)
        for each in filter(None, idle):
            yield from range(each.lineno, each.end_lineno + 1)
