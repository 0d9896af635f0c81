"""Faults in the code of the log of a broker that is alone, each of which ``--alone`` must find."""

from unittest.mock import patch

from simulation.alone import Disk
from simulation.planting import Planted

from magnetar.storage.ledger.local.log_thread import LogThread

PLANTED_IN_THE_LOG = Planted()


@PLANTED_IN_THE_LOG
def answered_before_it_is_synced():
    """What is written is taken for being on disk."""

    def sync(self):
        self._unsynced_since = None

    with patch.object(LogThread, "_sync", sync):
        yield


@PLANTED_IN_THE_LOG
def failed_sync_is_forgiven():
    """What a disk failed to sync is taken for being there."""

    def sync(self):
        try:
            right(self)
        except OSError:
            self._unsynced_since = None

    right = LogThread._sync
    with patch.object(LogThread, "_sync", sync):
        yield


@PLANTED_IN_THE_LOG
def folder_is_not_synced():
    """That there is a new file of the log is not on disk when something in it is answered."""
    with patch.object(Disk, "sync_folder", lambda *_: None):
        yield
