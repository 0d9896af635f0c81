"""What a start did not find in the log as it was written. Pure."""

from dataclasses import dataclass
from typing import Final, NamedTuple


class Cut(NamedTuple):
    """What was cut off behind the last record that counts, as far as it can be read."""

    records: int = 0
    entries: int = 0


NOTHING_CUT: Final = Cut()


@dataclass(slots=True)
class LogDamage:
    """Of all segments of the log."""

    records: int = 0  # They were answered, and cannot be read.
    maybe_answered: Cut = NOTHING_CUT  # Nobody can say whether it was answered.
