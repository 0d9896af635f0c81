"""Java's properties format, which Pulsar's ``*.conf`` files are written in: text to pairs. Pure."""

import re

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
# A key ends at the first unescaped "=", ":" or blank; one separator and the blanks around it go.
_PAIR = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", re.DOTALL)


def parse_properties(text: str) -> dict[str, str]:
    """The pairs of a properties file; of a key that appears twice the last value counts."""
    pairs: dict[str, str] = {}
    for line in _logical_lines(text):
        match = _PAIR.fullmatch(line)
        assert match is not None  # The pattern matches every text.
        key, value = match.groups()
        pairs[_unescape(key)] = _unescape(value).rstrip()
    return pairs


def _logical_lines(text: str) -> list[str]:
    """Lines without comments and blank ones; a line that ends in a lone backslash goes on."""
    lines: list[str] = []
    unfinished = ""
    for raw in text.splitlines():
        line = raw.lstrip()
        if not unfinished and (not line or line[0] in "#!"):
            continue
        line = unfinished + line
        if _goes_on(line):
            unfinished = line[:-1]
        else:
            lines.append(line)
            unfinished = ""
    if unfinished:
        lines.append(unfinished)
    return lines


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
