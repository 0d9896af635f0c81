"""What the documents name exists."""

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
from architecture.source import (
    ROOT,
    SOURCE,
    files,
    functions,
    imported,
    members,
    python_files,
    words,
)

JOURNEY = ROOT / "docs" / "journey.md"
README = ROOT / "README.md"
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
CODE = re.compile(r"`([^`\n]+)`")
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")

# What was, the settings of Pulsar (test_settings_document.py holds them to the code), and other
# systems.
NOT_OF_THE_CODE = {
    "CHANGELOG.md",
    "settings.md",
    "coming-from-kafka.md",
    "coming-from-pulsar.md",
    "coming-from-rabbitmq.md",
}
# Names in code type that other projects made: Python's, the shell's, Java's, Spark's and Pulsar's.
OUTSIDE = {
    "ARGS",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "FileSystemBasedCheckpointFileManager",
    "analyzeBacklog",
    "await",
    "cryptography",
    "getPreciseBacklog",
    "internalStats",
    "mallinfo2",
    "maxConcurrentLookupRequest",
    "opentelemetry",
    "pulsarChannelWriteBufferHighWaterMark",
    "pyproject.toml",
    "python3",
    "resetcursor",
    "sitecustomize.py",
    "spark.python.unix.domain.socket.enabled",
    "spark.sql.session.timeZone",
    "spark.sql.shuffle.partitions",
    "sys.orig_argv",
}
FUNCTION = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?(?=\(?\)?$)")


def hops() -> list[tuple[list[str], list[str]]]:
    """From each line that names files: the files, and the functions named beside them."""
    found = []
    for line in JOURNEY.read_text().splitlines():
        words = CODE.findall(line)
        paths = [word for word in words if word.endswith(".py")]
        named = [
            word.removesuffix("()")
            for word in words
            if word not in paths and FUNCTION.fullmatch(word.removesuffix("()"))
        ]
        if paths:
            found.append((paths, named))
    return found


def documents() -> list[Path]:
    """Every document that speaks of the code as it is now."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/decisions/*.md")]
    return sorted(path for path in found if path.name not in NOT_OF_THE_CODE)


def unknown(word: str) -> bool:
    """Whether a word in code type looks like a file or a name, and nothing here is called so."""
    name = word.removesuffix("()")
    if name in OUTSIDE:
        return False
    if name.endswith(".py"):
        return not any(fnmatch(f"/{path}", f"*/{name}") for path in python_files())
    if not NAME.fullmatch(name):
        return False
    first, _, rest = name.partition(".")
    if rest and "." not in rest and first in members():
        return rest not in members()[first]
    return name not in words() and not all(part in words() for part in name.split("."))


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.name)
def test_a_document_names_only_files_classes_and_functions_that_exist(document: Path):
    text = BLOCK.sub("", document.read_text())
    if document == ARCHITECTURE:  # Of what comes, only the place must be there: see below.
        text = re.sub(r"## Where would I add.*?(?=\n## )", "", text, flags=re.DOTALL)
    named = set(CODE.findall(text))
    missing = sorted(word for word in named if unknown(word))
    assert not missing, f"{document.name} names what is not there: {missing}"


def test_a_name_that_nothing_has_is_noticed():
    assert unknown("broker/topics/nowhere.py")
    assert unknown("Session.never_defined")
    assert unknown("NoSuchClass")
    assert unknown("no_such_function()")
    assert not unknown("broker/session.py")
    assert not unknown("Session.publish")
    assert not unknown("pulsar://localhost:6650")


def test_the_picture_of_the_layers_is_that_of_the_contracts():
    drawn = BLOCK.search(ARCHITECTURE.read_text().partition("## The rules")[2])
    assert drawn is not None
    pairs = [line.partition("│") for line in drawn[0].splitlines()[3:-1]]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    tree, broker = (contract["layers"] for contract in contracts["contracts"][:2])
    assert [left.strip() for left, _, _ in pairs] == tree
    assert [right.strip() for _, _, right in pairs if right.strip()] == broker


def test_a_library_is_imported_where_the_table_of_doors_says_and_nowhere_else():
    table = ARCHITECTURE.read_text().partition("| library |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (\w[\w.]*) \| (`.*) \|$", table, re.MULTILINE)
    assert len(rows) > 10
    for library, cell in rows:
        doors = CODE.findall(cell)
        users = {name for name in files() if library.partition(".")[0] in imported(name)}
        assert not [name for name in users if not name.startswith(tuple(doors))], library
        assert not [door for door in doors if not any(n.startswith(door) for n in users)], library


def test_the_table_of_where_to_add_names_places_that_are_there():
    table = ARCHITECTURE.read_text().partition("## Where would I add")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    places = {word for row in rows for word in CODE.findall(row) if "/" in word}
    assert len(rows) >= 9
    assert len(places) > 20
    missing = [place for place in places if not (SOURCE / place).exists()]
    homeless = [place for place in missing if not (SOURCE / place).parent.is_dir()]
    assert not homeless, f"neither these nor their folders exist: {homeless}"


@pytest.mark.skipif(not JOURNEY.exists(), reason="docs/journey.md is not written yet")
def test_the_journey_names_only_files_and_functions_that_exist():
    stops = hops()
    assert stops, "docs/journey.md names no files"
    for paths, named in stops:
        for path in paths:
            assert path in files(), f"docs/journey.md names {path}, which does not exist"
        defined = set().union(*(functions(path) for path in paths))
        for function in named:
            assert function in defined, f"docs/journey.md names {function}, not found in {paths}"


def test_the_readme_tree_is_the_tree_on_disk():
    text = README.read_text()
    block = next(
        (
            block
            for block in re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
            if "src/magnetar/" in block
        ),
        None,
    )
    assert block, "README.md: draw the tree of src/magnetar in a code block"
    drawn = block[block.index("src/magnetar/") :].splitlines()[1:]
    rooms = {
        match[1] for line in drawn if (match := re.match(r"^[ │├└─]{1,4}(\w+(?:/|\.py))", line))
    }
    on_disk = {
        path.name + ("/" if path.is_dir() else "")
        for path in SOURCE.iterdir()
        if not path.name.startswith("__") and (path.is_dir() or path.suffix == ".py")
    }
    assert rooms == on_disk
