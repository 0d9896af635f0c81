"""What a topic asks of a client: the only way up out of the topics room, and the only inversion.

``broker/session.py`` satisfies it. Nothing here waits: bytes go to the connection's outbox.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from magnetar.errors import MagnetarError
from magnetar.message.send_run import SendRun
from magnetar.model.broker_address import BrokerAddress
from magnetar.storage.managed_ledger.run import EntryRun


class ClientConnection(Protocol):
    """One client's connection, as seen by the topics it uses."""

    @property
    def address(self) -> str:
        """The client's address, ``host:port``, for stats."""

    @property
    def client_version(self) -> str: ...

    @property
    def replicates_by_position(self) -> bool:
        """Whether receipts for its replicators are to name the places of entries there."""

    @property
    def writable(self) -> bool:
        """False while the client reads too slowly; entries wait in the log until it is True."""

    def when_writable(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` once, when ``writable`` turns True."""

    def read_later(self, wait_s: Callable[[], float]) -> None:
        """Read nothing from the client until ``wait_s``, which is asked now and again, says 0."""

    async def alive(self) -> bool:
        """Ask the client for a sign of life; False when none came in time (and it is cut off)."""

    def send_receipts(self, run: SendRun, ledger_id: int, first_entry_id: int) -> None:
        """Every send of the run is durable, as consecutive entries from ``first_entry_id`` on."""

    def send_unstored_receipts(self, run: SendRun, *, delivered: bool) -> None:
        """The run was passed on, or dropped, and is stored nowhere; or it was stored before."""

    def send_errors(self, run: SendRun, error: MagnetarError) -> None:
        """No send of the run was stored."""

    def drop_sends(self, run: SendRun) -> None:
        """The run will be neither stored nor answered: its producer was closed."""

    def send_entries(
        self,
        consumer_id: int,
        run: EntryRun,
        *,
        picked: Sequence[int] | None = None,
        partition: int,
        redelivery_counts: Sequence[int] | None = None,
        ack_sets: Sequence[Sequence[int]] | None = None,
        consumer_epoch: int | None = None,
    ) -> None:
        """Deliver a run, or what is ``picked`` of it: indexes, ascending.

        The other sequences run parallel to what is delivered; 0 and [] say nothing about an entry.
        """

    def send_active_change(self, consumer_id: int, *, active: bool) -> None:
        """A Failover consumer became active, or no longer is."""

    def send_end_of_topic(self, consumer_id: int) -> None:
        """The topic has ended, and the consumer's subscription has acknowledged all of it."""

    def close_producer(self, producer_id: int, to: BrokerAddress | None = None) -> None:
        """The topic lets go of the producer (unload, deletion, a failed write).

        ``to`` is the broker that serves the topic next; None: the client looks it up.
        """

    def close_consumer(self, consumer_id: int, to: BrokerAddress | None = None) -> None:
        """The topic lets go of the consumer (unload, deletion, seek, forced unsubscribe).

        ``to`` as for ``close_producer``.
        """
