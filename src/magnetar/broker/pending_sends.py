"""Sends that came and are not answered: how many may wait, on a connection and on all. Pure."""

from collections.abc import Callable

from .listening import Hold, Listening


class SendBudget:
    """Memory for all pending sends. Who overdraws it waits until half of it is free."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._used_bytes = 0  # Invariant: taken and not given back; never negative.
        self._waiting: list[Callable[[], None]] = []

    @property
    def used_bytes(self) -> int:
        return self._used_bytes

    def take(self, size_bytes: int) -> bool:
        """Count bytes that are there already. False when the caller must now wait."""
        self._used_bytes += size_bytes
        return self._used_bytes < self._bytes_max

    def when_free(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` once, when half of the budget is free."""
        self._waiting.append(wake)

    def give_back(self, size_bytes: int) -> None:
        self._used_bytes -= size_bytes
        assert self._used_bytes >= 0, self._used_bytes
        if self._waiting and self._used_bytes <= self._bytes_max // 2:
            waiting, self._waiting = self._waiting, []
            for wake in waiting:
                wake()


class PendingSends:
    """The pending sends of one connection. What is added is settled later, once and as a whole.

    When there are too many, the client is not listened to until half of them are answered. Sends
    of a connection that is lost count until they are stored: they take up memory until then.
    """

    __slots__ = (
        "_budget",
        "_budget_spent",
        "_bytes",
        "_bytes_max",
        "_count",
        "_count_max",
        "_held",
        "_listening",
    )

    def __init__(
        self,
        budget: SendBudget,
        listening: Listening,
        *,
        count_max: int,
        bytes_max: int,
    ) -> None:
        self._budget = budget
        self._listening = listening
        self._count_max = count_max
        self._bytes_max = bytes_max
        self._held = False
        self._budget_spent = False
        self._count = 0
        self._bytes = 0

    def __len__(self) -> int:
        return self._count

    @property
    def size_bytes(self) -> int:
        return self._bytes

    def add(self, count: int, size_bytes: int) -> None:
        self._count += count
        self._bytes += size_bytes
        if not self._budget.take(size_bytes) and not self._budget_spent:
            self._budget_spent = True
            self._budget.when_free(self._budget_is_free)
        if not self._held and (
            self._count >= self._count_max or self._bytes >= self._bytes_max or self._budget_spent
        ):
            self._held = True
            self._listening.hold(Hold.SENDS)

    def settle(self, count: int, size_bytes: int) -> None:
        """Sends that were added are answered, or will not be."""
        self._count -= count
        self._bytes -= size_bytes
        assert self._count >= 0, "what is settled was added"
        self._budget.give_back(size_bytes)
        if self._held:
            self._go_on()

    def _budget_is_free(self) -> None:
        self._budget_spent = False
        self._go_on()

    def _go_on(self) -> None:
        if (
            self._held
            and not self._budget_spent
            and self._count <= self._count_max // 2
            and self._bytes <= self._bytes_max // 2
        ):
            self._held = False
            self._listening.lift(Hold.SENDS)
