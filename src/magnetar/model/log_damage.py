"""Damage that a start found in the log. Pure."""

from typing import Final, NamedTuple

from magnetar.late_dataclass import dataclass


class Cut(NamedTuple):
    """The bytes cut off behind the last valid record, as far as they can be read."""

    records: int = 0
    entries: int = 0


NOTHING_CUT: Final = Cut()


@dataclass(slots=True)
class LogDamage:
    """Damage in all segments of the log."""

    records: int = 0  # They were answered, and cannot be read.
    maybe_answered: Cut = NOTHING_CUT  # Nobody can say whether it was answered.
