"""Between their snippets, the documents name what exists, and draw whole tables."""

import re
from itertools import groupby

import pytest
from documents.snippets import ROOT, pages

BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(?:bench|deploy|docs|examples|proto|src|tests)/[\w./-]*\w/?")
CELLS = re.compile(r"(?<!\\)\|")


def prose(page):
    return BLOCK.sub("", (ROOT / page).read_text())


@pytest.mark.parametrize("page", pages())
def test_files_and_commands_that_are_named_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for code in CODE.findall(prose(page)):
        if PATH.fullmatch(code):
            assert list(ROOT.glob(f"{code}*")), f"{page} names {code}, which does not exist"
        if made := re.match(r"make ([a-z-]+)", code):
            assert made[1] in targets, f"{page} names `{code}`, and make knows no {made[1]}"
        if ran := re.match(r"python -m (bench\S*)", code):
            name = ROOT / ran[1].replace(".", "/")
            assert name.with_suffix(".py").exists() or (name / "__main__.py").exists(), code


@pytest.mark.parametrize("page", pages())
def test_every_table_has_a_head_and_as_many_cells_in_each_row(page):
    for is_table, lines in groupby(prose(page).splitlines(), lambda line: line.startswith("|")):
        rows = list(lines)
        if is_table:
            assert len(rows) > 1, f"{page}: a row stands alone: {rows[0]}"
            assert re.fullmatch(r"[|:\s-]+", rows[1]), f"{page}: no head above {rows[0]}"
            widths = {len(CELLS.findall(row)) for row in rows}
            assert len(widths) == 1, f"{page}: cells are missing below {rows[0]}"
