"""How long a message waits before it comes again, longer each time. Pure."""

from dataclasses import dataclass

from magnetar.checks import check_not_negative, check_positive
from magnetar.errors import InvalidValue


@dataclass(frozen=True, slots=True)
class RedeliveryBackoff:
    """The n-th redelivery waits ``min_s * multiplier ** (n - 1)`` seconds, at most ``max_s``.

    Raises InvalidValue.
    """

    min_s: float = 1.0
    max_s: float = 60.0
    multiplier: float = 2.0

    def __post_init__(self) -> None:
        check_not_negative("min_s", self.min_s)
        check_positive("multiplier", self.multiplier)
        if self.multiplier < 1:
            raise InvalidValue(f"multiplier is {self.multiplier}; it must be at least 1")
        check_not_negative("max_s", self.max_s)
        if self.max_s < self.min_s:
            raise InvalidValue(f"max_s is {self.max_s}; it must be at least min_s, {self.min_s}")

    def delay_s(self, redelivery_count: int) -> float:
        """Return the wait of a message that was redelivered so often before."""
        try:
            return min(self.min_s * self.multiplier**redelivery_count, self.max_s)
        except OverflowError:
            return self.max_s
