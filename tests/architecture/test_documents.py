"""What the documents name exists."""

import re

import pytest
from architecture.source import ROOT, SOURCE, files, functions

JOURNEY = ROOT / "docs" / "journey.md"
README = ROOT / "README.md"
CODE = re.compile(r"`([^`]+)`")
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
