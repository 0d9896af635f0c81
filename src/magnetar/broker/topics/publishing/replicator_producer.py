"""The attached producer of another cluster's replicator."""

from magnetar.broker.topics.publishing.producer import Producer
from magnetar.message.send_run import SendRun


class ReplicatorProducer(Producer):
    """Its receipts name the places that entries have in its cluster, where it understands that.

    By these places its sends are deduplicated; where it does not, by the producers that published
    them in the first place.
    """

    @property
    def by_place(self) -> bool:
        return self.connection.replicates_by_position

    def stored(self, run: SendRun, ledger_id: int, first_entry_id: int) -> None:
        super().stored(self._named(run), ledger_id, first_entry_id)

    def stored_before(self, run: SendRun) -> None:
        super().stored_before(self._named(run))

    def _named(self, run: SendRun) -> SendRun:
        return run.named_by_sources() if self.by_place else run
