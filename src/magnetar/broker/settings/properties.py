"""Java's properties format, which Pulsar's ``*.conf`` files are written in: text to pairs. Pure.

One thing of Java's is an error here: a key without ``=`` or ``:`` behind it. Java takes a blank for
``=``, and nothing for an empty value; in Pulsar's files either is a slip of the pen.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from magnetar.errors import InvalidValue

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
# A key ends at the first unescaped "=", ":" or blank; the blanks around the separator go.
_PAIR = re.compile(r"((?:\\.|[^\\=:\s])+)\s*[=:]\s*(.*)", re.DOTALL)


class Pair(NamedTuple):
    """A key and its value, and the line that they begin on."""

    key: str
    value: str
    line: int


def parse_properties(text: str) -> list[Pair]:
    """The pairs of a properties file, in its order. Raises InvalidValue naming the line."""
    pairs = []
    for number, line in _logical_lines(text):
        match = _PAIR.fullmatch(line)
        if match is None:
            word = line.split()[0]  # What follows may be a secret.
            raise InvalidValue(
                f"line {number}: {word!r} is not followed by '='; write key=value, or # before a "
                "comment"
            )
        key, value = match.groups()
        pairs.append(Pair(_unescape(key), _unescape(value).rstrip(), number))
    return pairs


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments and blank ones; a line that ends in a lone backslash goes on."""
    unfinished, began = "", 0
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.lstrip()
        if not unfinished:
            if not line or line[0] in "#!":
                continue
            began = number
        line = unfinished + line
        if _goes_on(line):
            unfinished = line[:-1]
        else:
            yield began, line
            unfinished = ""
    if unfinished:
        yield began, unfinished


def _goes_on(line: str) -> bool:
    backslashes = len(line) - len(line.rstrip("\\"))
    return backslashes % 2 == 1


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_escaped, text) if "\\" in text else text


def _escaped(match: re.Match[str]) -> str:
    code = match.group(1)
    if len(code) == 5:  # A "u" and four hex digits.
        return chr(int(code[1:], 16))
    return _ESCAPES.get(code, code)
