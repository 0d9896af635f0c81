"""Faults in the code, each of which the simulation must find: a part replaced by a wrong one."""

from contextlib import contextmanager
from unittest.mock import patch

from magnetar.broker.dispatch.draining_slots import DrainingSlots
from magnetar.broker.topics.features.deduplication import Deduplication
from magnetar.broker.topics.publishing.sequence_ids import SequenceIds
from magnetar.broker.topics.transaction_buffer import TransactionBuffer
from magnetar.storage.ledger.bookkeeper.writer import BookKeeperWriter
from magnetar.storage.managed_ledger.log_trimmer import LogTrimmer
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


@planted
def deduplication_forgotten():
    """Who opens a topic does not learn which sequence ids are stored."""
    with (
        patch.object(Deduplication, "_learn", lambda *_: None),
        patch.object(SequenceIds, "restore", lambda *_: None),
    ):
        yield


@planted
def trimmed_by_the_fastest_cursor():
    """Ledgers are deleted that another cursor has not read."""

    def fastest_mark(self):
        return max((each.mark for each in self.cursors.values() if each.durable), default=None)

    with patch.object(LogTrimmer, "_slowest_mark", fastest_mark):
        yield


@planted
def key_moved_while_pending():
    """A key goes to another consumer before all of it is acknowledged that the first one has."""
    with patch.object(DrainingSlots, "refuse", lambda *_: False):
        yield


@planted
def aborted_is_shown():
    """What an aborted transaction has published is delivered."""
    with patch.object(TransactionBuffer, "aborted_in", lambda *_: set()):
        yield
