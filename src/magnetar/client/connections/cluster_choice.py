"""Which of several clusters to use, by which of them answer. Pure."""

from collections.abc import Sequence


class ClusterChoice:
    """Begins with the first, the primary; times are in seconds of any clock."""

    current: int  # The index of the one to use.

    def __init__(self, *, failover_delay_s: float, switch_back_delay_s: float) -> None:
        self.current = 0
        self._failover_delay_s = failover_delay_s
        self._switch_back_delay_s = switch_back_delay_s
        self._down_since: float | None = None  # The current one.
        self._primary_up_since: float | None = None

    def probed(self, now: float, up: Sequence[bool]) -> int:
        """Take in which clusters answer now; the index of the one to use."""
        if not up[0]:
            self._primary_up_since = None
        elif self._primary_up_since is None:
            self._primary_up_since = now
        if up[self.current]:
            self._down_since = None
        elif self._down_since is None:
            self._down_since = now
        if _lasted(self._down_since, now, self._failover_delay_s) and True in up:
            self._use(list(up).index(True))
        elif self.current and _lasted(self._primary_up_since, now, self._switch_back_delay_s):
            self._use(0)
        return self.current

    def _use(self, index: int) -> None:
        self.current = index
        self._down_since = None


def _lasted(since: float | None, now: float, delay_s: float) -> bool:
    return since is not None and now - since >= delay_s
