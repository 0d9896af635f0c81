"""Faults in the code, each of which the simulation must find: a part replaced by a wrong one."""

from contextlib import contextmanager
from unittest.mock import patch

from magnetar.storage.ledger.bookkeeper.writer import BookKeeperWriter
from magnetar.storage.metadata.leases import Leases

PLANTED = {}


def planted(function):
    PLANTED[function.__name__] = contextmanager(function)
    return function


@planted
def early_ownership():
    """A lease that another broker holds is taken as if it were free."""

    async def take(self, path):
        holder = await right(self, path)
        if holder != self._value:
            self.held.add(path)
        return self._value

    right = Leases.take
    with patch.object(Leases, "take", take):
        yield


@planted
def receipt_of_a_dropped_run():
    """What a ledger could not store is answered as if it were stored."""

    def lied(self, error):
        for run in self._runs:
            run.answered(run.first, None)
            run.answered = lambda *_: None
        right(self, error)

    right = BookKeeperWriter._answer_all
    with patch.object(BookKeeperWriter, "_answer_all", lied):
        yield
