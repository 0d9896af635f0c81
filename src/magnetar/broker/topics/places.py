"""How many of something there may be, with those on their way counted from the start. Pure."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from magnetar.errors import MagnetarError


class Places:
    """So many places; 0 is no limit.

    Whoever comes takes a place before it waits for anything, and holds it until it is there or has
    failed: of many that come at the same moment no more get in than one after the other.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._coming: Counter[object] = Counter()

    @contextmanager
    def one_more(self, present: int, full: MagnetarError, *, who: object) -> Iterator[None]:
        """For who comes where ``present`` are there. All with the same ``who`` take one place.

        Raises ``full`` when there is no place.
        """
        if self._most and who not in self._coming and present + len(self._coming) >= self._most:
            raise full
        self._coming[who] += 1
        try:
            yield
        finally:
            self._coming[who] -= 1
            if not self._coming[who]:
                del self._coming[who]
