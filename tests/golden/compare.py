"""Two answers as plain data, field by field."""

from collections.abc import Iterator
from typing import Any

NOTHING = "nothing"


def compare(theirs: Any, ours: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Every field that differs, by its dotted path: theirs, ours; NOTHING where there is none."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted(theirs.keys() | ours.keys()):
            inner = f"{path}.{key}" if path else key
            yield from compare(theirs.get(key, NOTHING), ours.get(key, NOTHING), inner)
    elif (
        isinstance(theirs, list)
        and isinstance(ours, list)
        and len(theirs) == len(ours)
        and any(isinstance(item, dict) for item in theirs)
    ):
        for at, (one, other) in enumerate(zip(theirs, ours, strict=True)):
            yield from compare(one, other, f"{path}.{at}" if path else str(at))
    elif theirs != ours:
        yield path, theirs, ours
