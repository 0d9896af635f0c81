"""Which address of a cluster to ask: the one that works, else the next. Pure."""

from collections.abc import Callable, Sequence

from .backoff import Backoff


class Addresses:
    """The addresses of a service URL. One that failed is skipped for a while, and longer the
    next time; when all have, all are tried.
    """

    def __init__(
        self, addresses: Sequence[str], backoff: Callable[[], Backoff], *, begin: int = 0
    ) -> None:
        """``begin`` is the index of the first to be asked: clients begin with different ones."""
        self._addresses = tuple(addresses)
        self._current = begin % len(self._addresses)
        self._backoff = backoff
        self._failing: dict[str, tuple[float, Backoff]] = {}  # Skipped until then.

    def in_turn(self, now: float) -> list[str]:
        """Return the addresses to ask, in this order, until one answers. Times are in seconds."""
        turn = self._addresses[self._current :] + self._addresses[: self._current]
        well = [each for each in turn if each not in self._failing or self._failing[each][0] <= now]
        return well or list(turn)

    def worked(self, address: str) -> None:
        """Ask it again the next time."""
        self._failing.pop(address, None)
        self._current = self._addresses.index(address)

    def failed(self, address: str, now: float) -> None:
        """It could not be reached: go on with the next, and come back to it later."""
        _, backoff = self._failing.get(address) or (0.0, self._backoff())
        self._failing[address] = (now + backoff.next_s(), backoff)
        self.skip(address)

    def skip(self, address: str) -> None:
        """It could not help: ask the next one the next time."""
        if self._addresses[self._current] == address:
            self._current = (self._current + 1) % len(self._addresses)
