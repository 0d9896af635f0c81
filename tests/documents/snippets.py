"""The fenced code blocks of the documents: what language they are in, and how each is run.

The info string of a block is its language, and ``file=NAME`` where the page means it to be a file
of its reader's. ``text`` is a drawing, which nobody runs.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DRAWING = "text"
_BLOCK = re.compile(r"^```(?P<info>[^`\n]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Snippet:
    """A block of code; ``line`` is where its first line stands in the page."""

    page: str
    line: int
    language: str
    file: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def needs_spark(self) -> bool:
        return self.language == "python" and "spark" in self.text


def pages() -> list[str]:
    """Every document, relative to the repository."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def snippets(page: str) -> list[Snippet]:
    return list(in_text(page, (ROOT / page).read_text(encoding="utf-8")))


def in_text(page: str, text: str) -> Iterator[Snippet]:
    for block in _BLOCK.finditer(text):
        language, _, file = block["info"].partition(" file=")
        line = text.count("\n", 0, block.start("text")) + 1
        yield Snippet(page, line, language.strip(), file.strip(), block["text"])


def commands(snippet: Snippet) -> list[tuple[str, str]]:
    """The commands of a block for a shell, each with what the page says it prints.

    In ``console`` they begin with ``$``, and what follows is printed. ``sh`` says nothing of it.
    """
    lines = snippet.text.replace("\\\n", "").splitlines()
    if snippet.language == "sh":
        return [(line, "...") for line in lines if line.strip() and not line.startswith("#")]
    found: list[tuple[str, str]] = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), ""))
        else:
            command, printed = found[-1]
            found[-1] = (command, f"{printed}{line}\n")
    return found
