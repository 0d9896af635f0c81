"""Pulsar's settings that Magnetar does not have, and what becomes of each.

They stand in ``pulsar.toml``, which is read when the first setting is met that is none of
Magnetar's: most brokers start without it.
"""

from collections.abc import KeysView, Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from magnetar.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """Settings that are treated alike, for one reason."""

    about: str
    refuses: bool
    reason: str  # Why other values stop the start, or why none has an effect.
    settings: Mapping[str, list[str]]  # By key: the values that ask for nothing.
    not_done: Mapping[str, str] = field(default_factory=dict)  # By key: taken with a warning.


class PulsarTable:
    """The table of a file, read when it is first asked."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        return tuple(Group(**each) for each in self._table["groups"])

    @property
    def dynamic(self) -> list[str]:
        """Those that Pulsar lets an administrator change, and that have no effect here."""
        found: list[str] = self._table["dynamic"]
        return found

    def group_of(self, key: str) -> Group | None:
        """The group that a setting of Pulsar's belongs to; None where the table has it not."""
        return self._groups_by_key.get(key)

    @property
    def keys(self) -> KeysView[str]:
        """Every setting of the table."""
        return self._groups_by_key.keys()

    @cached_property
    def _table(self) -> dict[str, Any]:
        import tomllib  # noqa: PLC0415 - it would take a tenth of the time that the settings do

        return tomllib.loads(self._file.read_text(encoding="utf-8"))

    @cached_property
    def _groups_by_key(self) -> dict[str, Group]:
        return {key: group for group in self.groups for key in group.settings}


OF_BROKERS: Final = PulsarTable(Path(__file__).with_suffix(".toml"))


def groups() -> tuple[Group, ...]:
    """The whole table of brokers."""
    return OF_BROKERS.groups


def dynamic_keys() -> list[str]:
    """Those that Pulsar lets an administrator change, and that have no effect here."""
    return OF_BROKERS.dynamic


def group_of(key: str) -> Group | None:
    """The group that a setting of Pulsar's brokers belongs to; None for one they have not."""
    return OF_BROKERS.group_of(key)


def pulsar_keys() -> KeysView[str]:
    """Every setting of Pulsar's brokers that Magnetar's do not have."""
    return OF_BROKERS.keys
