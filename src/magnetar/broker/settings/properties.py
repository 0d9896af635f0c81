"""Java's properties format, which Pulsar's ``*.conf`` files are written in: text to pairs.

One thing of Java's is an error here: a key without ``=`` or ``:`` behind it. Java takes a blank for
``=``, and nothing for an empty value; in Pulsar's files either is a slip of the pen.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
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


def read_properties(
    file: Path, own: Collection[str], ports: Iterable[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The values that a file sets, and the source of each. Raises InvalidValue.

    Pulsar's own files leave many keys empty to mean their default; so do we with our ``own``. An
    empty one of ``ports`` beside one for TLS means none, so that clients come by TLS only.
    """
    try:
        pairs = parse_properties(file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"cannot read the configuration file {file}: {error}") from error
    except InvalidValue as error:
        raise InvalidValue(f"configuration file {file}, {error}") from None
    given = {pair.key: pair for pair in pairs}
    for key in ports:
        if key in given and not given[key].value and f"{key}Tls" in given:
            given[key] = given[key]._replace(value="-1")
    kept = [pair for pair in given.values() if pair.value or pair.key not in own]
    return (
        {pair.key: pair.value for pair in kept},
        {pair.key: f"file {file}, line {pair.line}" for pair in kept},
    )


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
