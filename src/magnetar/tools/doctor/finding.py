"""A check's finding, and figures as they are read. Pure."""

from enum import Enum
from typing import NamedTuple


class Verdict(Enum):
    """How grave it is."""

    OK = "ok"
    NOTE = "note"  # It works, and something may be better.
    WRONG = "wrong"  # A broker does not start, or loses what it should keep.


class Finding(NamedTuple):
    """One line of the doctor's."""

    subject: str
    verdict: Verdict
    said: str
    remedy: str = ""


def ok(subject: str, said: str) -> Finding:
    """Nothing to do."""
    return Finding(subject, Verdict.OK, said)


def note(subject: str, said: str, remedy: str) -> Finding:
    """Make a finding that could be better."""
    return Finding(subject, Verdict.NOTE, said, remedy)


def wrong(subject: str, said: str, remedy: str) -> Finding:
    """Make a finding that has to be mended."""
    return Finding(subject, Verdict.WRONG, said, remedy)


def size_text(size: int) -> str:
    """Bytes in the unit that they fill."""
    value, units = float(size), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return (
        f"{value:.0f} {units[0]}" if value >= 10 or units[0] == "B" else f"{value:.1f} {units[0]}"
    )
