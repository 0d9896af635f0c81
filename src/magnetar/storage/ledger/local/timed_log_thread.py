"""A log thread that notes when it wrote and synced what, at a cost only where it is used."""

from typing import TypeVar

from magnetar.model.counts import GroupTimes

from .log_thread import Commit, LogThread

Job = TypeVar("Job")


class TimedLogThread(LogThread[Job]):
    """The first commit of each group that it answers has the times of the group."""

    _sync_began = 0.0

    def _execute(self, group: list[Commit[Job]]) -> Exception | None:
        began = self._sync_began = self._clock.now()
        error = super()._execute(group)
        ended = self._clock.now()
        written = ended if self._sync_began == began else self._sync_began
        size = sum(commit.size for commit in group)
        group[0].times = GroupTimes(began, written, ended, size)
        return error

    def _sync(self) -> None:
        self._sync_began = self._clock.now()
        super()._sync()
