"""A limit on the bytes that wait for clients to read them, for all connections together. Pure."""

from typing import Final, Protocol

COUNTS_PER_BUDGET: Final = 8
"""The outboxes are looked through each time this part of the budget was written to them."""


class BudgetedOutbox(Protocol):
    """An outbox, as far as the budget must know it."""

    @property
    def unwritten_bytes(self) -> int:
        """What its client has not taken yet."""

    def restrict(self, bytes_max: int) -> None:
        """Deliver nothing more until its client has read most of it, if more is unwritten."""


class OutboxBudget:
    """Memory for the unwritten bytes of all connections (``maxMessageDeliveryBufferSizeInMB``).

    When half of it is used, what is left is divided among those that have unwritten bytes. Who has
    more than its share stops until its client has read; who has less goes on. So a connection
    waits for its own client only, never for another's.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._step_bytes = max(bytes_max // COUNTS_PER_BUDGET, 1)
        self._written_bytes = 0  # Since the last count.
        # Invariant: who has unwritten bytes is among them; others may be, until the next count.
        self._outboxes: set[BudgetedOutbox] = set()

    @property
    def unwritten_bytes(self) -> int:
        """What all connections have unwritten."""
        return sum(outbox.unwritten_bytes for outbox in self._outboxes)

    def wrote(self, outbox: BudgetedOutbox, size_bytes: int) -> None:
        """Note that an outbox was given bytes to write."""
        self._outboxes.add(outbox)
        self._written_bytes += size_bytes
        if self._written_bytes >= self._step_bytes:
            self._count()

    def forget(self, outbox: BudgetedOutbox) -> None:
        """The connection is gone, and what was unwritten with it."""
        self._outboxes.discard(outbox)

    def _count(self) -> None:
        self._written_bytes = 0
        held = {outbox: outbox.unwritten_bytes for outbox in self._outboxes}
        held = {outbox: size for outbox, size in held.items() if size}
        self._outboxes = set(held)
        used = sum(held.values())
        if used <= self._bytes_max // 2:
            return
        share = max(self._bytes_max - used, 0) // len(held)
        for outbox, size in held.items():
            if size > share:
                outbox.restrict(share)
