"""Faults in the code of replication, each of which ``--regions`` must find."""

from unittest.mock import patch

from simulation.planting import Planted

from magnetar.broker.topics.features.replicator import Replicator
from magnetar.broker.topics.publishing.source_positions import SourcePositions
from magnetar.broker.topics.subscriptions.subscription_snapshots import SnapshotsAhead
from magnetar.model.position import LATEST, Position

PLANTED_IN_REPLICATION = Planted()


@PLANTED_IN_REPLICATION
def progress_when_sent():
    """A replicator takes for stored what it has sent."""

    def send(self, run, found):
        right(self, run, found)
        end = Position(run.ledger_id, run.first_entry_id + found.end - 1)
        self.cursor.acknowledge_cumulative(end)

    right = Replicator._send
    with patch.object(Replicator, "_send", send):
        yield


@PLANTED_IN_REPLICATION
def places_forgotten():
    """It is not known which places of another cluster are stored."""
    with patch.object(SourcePositions, "duplicates", lambda *_: {}):
        yield


@PLANTED_IN_REPLICATION
def snapshot_told_before_it_is_passed():
    """Others are told of the latest snapshot, however far a subscription is."""
    right = SnapshotsAhead.passed
    with patch.object(SnapshotsAhead, "passed", lambda self, _: right(self, LATEST)):
        yield
