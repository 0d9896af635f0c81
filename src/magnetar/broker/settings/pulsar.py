"""Pulsar's settings that Magnetar does not have, and what becomes of each.

They stand in ``pulsar.toml``, which is read when the first setting is met that is none of
Magnetar's: most brokers start without it.
"""

from collections.abc import KeysView, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Group:
    """Settings that are treated alike, for one reason."""

    about: str
    refuses: bool
    reason: str  # Why other values stop the start, or why none has an effect.
    settings: Mapping[str, list[str]]  # By key: the values that ask for nothing.
    not_done: Mapping[str, str] = field(default_factory=dict)  # By key: taken with a warning.


@cache
def groups() -> tuple[Group, ...]:
    """The whole table."""
    return tuple(Group(**each) for each in _table()["groups"])


def dynamic_keys() -> list[str]:
    """Those that Pulsar lets an administrator change, and that have no effect here."""
    found: list[str] = _table()["dynamic"]
    return found


@cache
def _table() -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - it would take a tenth of the time that the settings do

    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def group_of(key: str) -> Group | None:
    """The group that a setting of Pulsar's belongs to; None where the table does not have it."""
    return _groups_by_key().get(key)


def pulsar_keys() -> KeysView[str]:
    """Every setting of the table."""
    return _groups_by_key().keys()


@cache
def _groups_by_key() -> dict[str, Group]:
    return {key: group for group in groups() for key in group.settings}
