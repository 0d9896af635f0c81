"""An attached producer: where its sends come in and its receipts go out."""

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from magnetar.broker.topics.client_connection import ClientConnection
from magnetar.errors import CorruptEntry, InvalidValue, MagnetarError, NotAllowed
from magnetar.message import metadata
from magnetar.message.send_run import SendRun
from magnetar.model.names import TopicName
from magnetar.model.policies import NO_POLICIES, Policies
from magnetar.model.producers import ProducerAccessMode

UNENCRYPTED: Final = InvalidValue("Messages must be encrypted")
OF_ANOTHER: Final = NotAllowed("The metadata names another transaction than the command, or none")
TOO_LARGE: Final = NotAllowed("Exceed maximum message size")
NOT_STORABLE: Final = NotAllowed(
    "The message with its metadata is too large for a bookie: make it smaller, or raise "
    "nettyMaxFrameSizeBytes of bookies and bookkeeper_nettyMaxFrameSizeBytes of brokers"
)
CHECKSUM_SIZE: Final = 6
"""What an entry does not have of a send, and a topic's limit counts: magic number and checksum."""


class Producer:
    """One producer of one topic, on one connection."""

    def __init__(
        self,
        *,
        producer_id: int,
        name: str,
        epoch: int,
        metadata: dict[str, str],
        connection: ClientConnection,
        publish: Callable[["Producer", SendRun], None],
        detach: Callable[["Producer"], None],
        connected_at_ms: int,
        access_mode: ProducerAccessMode = ProducerAccessMode.SHARED,
        topic_epoch: int | None = None,
        policies: Policies = NO_POLICIES,
        entry_size_max: int = 0,
    ) -> None:
        """``topic_epoch`` is the topic's, if it ever had an exclusive producer."""
        self.producer_id = producer_id
        self.name = name
        self.epoch = epoch
        self.metadata = metadata
        self.connection = connection
        self.connected_at_ms = connected_at_ms
        self.access_mode = access_mode
        self.topic_epoch = topic_epoch
        self.last_sequence_id = -1  # When it was attached; -1 for none.
        self.schema_version = b""  # For the answer to its client: a topic knows no schema.
        self.topic: TopicName | None = None  # Of a client's producer, for its traces.
        self.message_count = 0
        self.size_bytes = 0
        self.chunk_count = 0
        """Chunks count when they come in, whether they are stored or not."""
        self.dropped_count = 0
        """Messages dropped unseen: too many were published at once."""
        self.entries_pending = 0
        self._publish = publish
        self._detach = detach
        # Sends to be refused, and how many entries must be answered before each of them.
        self._refusals: deque[tuple[int, SendRun, MagnetarError]] = deque()
        self._must_encrypt = False
        self._size_max = 0
        self._entry_size_max = entry_size_max or sys.maxsize
        self._delay_ms_max = 0  # No limit.
        self.apply(policies)
        self._answered = 0  # Entries that were answered while refusals waited.
        self._closed = False
        self._settled: asyncio.Future[None] | None = None

    def apply(self, policies: Policies) -> None:
        """Let these hold from the next send on."""
        self._must_encrypt = bool(policies.encryption_required)
        self._size_max = policies.message_size_max or 0
        delays = policies.delayed_delivery
        self._delay_ms_max = delays.delay_ms_max if delays is not None and delays.active else 0

    def publish_through(self, publish: Callable[["Producer", SendRun], None]) -> None:
        """Hand runs to this from now on."""
        self._publish = publish

    def publish(self, run: SendRun) -> None:
        """Hand a run to the topic; the answer comes through the connection. Dropped after close."""
        if self._closed:
            self.connection.drop_sends(run)
        elif (
            not run.usual
            or self._must_encrypt
            or self._size_max
            or run.size_bytes > self._entry_size_max
        ) and (refused := self._refused(run)):
            self._publish_others(run, refused)
        else:
            self.entries_pending += len(run.data)
            self._publish(self, run)

    def _refused(self, run: SendRun) -> dict[int, MagnetarError]:
        """The sends that are refused, by index. Chunks of a run without any are counted."""
        refused: dict[int, MagnetarError] = {}
        if self._delay_ms_max > 0:
            too_late = NotAllowed(
                f"Exceeds max allowed delivery delay of {self._delay_ms_max} milliseconds"
            )
            for index, due_ms in enumerate(run.traits.due_ms):
                latest_ms = metadata.publish_time_ms(run.data[index]) + self._delay_ms_max
                if due_ms > latest_ms:
                    refused[index] = too_late
        if self._must_encrypt:
            for index, entry in enumerate(run.data):
                if not _encrypted(entry):
                    refused[index] = UNENCRYPTED
        refused |= dict.fromkeys(self._too_large(run), TOO_LARGE)
        refused |= dict.fromkeys(self._not_storable(run), NOT_STORABLE)
        if not run.usual:
            refused |= dict.fromkeys(_of_another_transaction(run), OF_ANOTHER)
        if not refused:
            self.chunk_count += run.traits.chunks_of(range(len(run)))
        return refused

    def _too_large(self, run: SendRun) -> Iterator[int]:
        """The sends over the topic's limit; chunks have none."""
        if not self._size_max:
            return
        for index, entry in enumerate(run.data):
            if len(entry) + CHECKSUM_SIZE > self._size_max:
                seen = run.traits.unusual.get(index)
                if seen is None or seen.chunk is None:
                    yield index

    def _not_storable(self, run: SendRun) -> Iterator[int]:
        """The sends that are too large for the ledger store."""
        for index, entry in enumerate(run.data):
            if len(entry) > self._entry_size_max:
                yield index

    def _publish_others(self, run: SendRun, refused: Mapping[int, MagnetarError]) -> None:
        """Publish what is not refused, and refuse the rest, each in its turn."""
        for error, part in run.split_by(refused):
            if error is None:
                self.publish(part)
            else:
                self._refusals.append((self._answered + self.entries_pending, part, error))
        self._refuse_due()

    def stored(self, run: SendRun, ledger_id: int, first_entry_id: int) -> None:
        """The topic made the run durable."""
        self.message_count += run.message_count
        self.size_bytes += run.size_bytes
        self.connection.send_receipts(run, ledger_id, first_entry_id)
        if self._refusals or self._settled is not None:
            self._settle(len(run.data))
        else:
            self.entries_pending -= len(run.data)

    def stored_before(self, run: SendRun) -> None:
        """The topic had all sends of the run already."""
        self.connection.send_unstored_receipts(run, delivered=False)
        self._settle(len(run))

    def delivered(self, run: SendRun) -> None:
        """The non-persistent topic delivered the run."""
        self.message_count += run.message_count
        self.size_bytes += run.size_bytes
        self.connection.send_unstored_receipts(run, delivered=True)
        self._settle(len(run.data))

    def undelivered(self, run: SendRun) -> None:
        """The non-persistent topic dropped the run."""
        self.dropped_count += run.message_count
        self.connection.send_unstored_receipts(run, delivered=False)
        self._settle(len(run.data))

    def refused(self, run: SendRun, error: MagnetarError) -> None:
        """The topic could not store the run."""
        self.connection.send_errors(run, error)
        self._settle(len(run))

    def dropped(self, run: SendRun) -> None:
        """The topic is closing: the client hears of that, and sends the run again elsewhere."""
        self.connection.drop_sends(run)
        while self._refusals:
            self.connection.drop_sends(self._refusals.popleft()[1])
        self._settle(len(run))

    def stop(self) -> bool:
        """Take no more sends. False: it took none already."""
        stopped, self._closed = not self._closed, True
        return stopped

    async def close(self) -> None:
        """Let go of the topic once everything sent before is answered. May be called again."""
        self._closed = True
        if self.entries_pending:
            if self._settled is None:
                self._settled = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._settled)
        self.detach()

    def detach(self) -> None:
        """Let go of the topic now: the connection is lost, or the topic closes."""
        self._closed = True
        self._detach(self)

    def _settle(self, count: int) -> None:
        self.entries_pending -= count
        if self._refusals:
            self._answered += count
            self._refuse_due()
        if self._settled is not None and not self.entries_pending and not self._settled.done():
            self._settled.set_result(None)

    def _refuse_due(self) -> None:
        """Clients take answers in the order of their sends only."""
        while self._refusals and self._refusals[0][0] <= self._answered:
            _, run, error = self._refusals.popleft()
            self.connection.send_errors(run, error)


def _of_another_transaction(run: SendRun) -> Iterator[int]:
    """The sends whose metadata would tell of a transaction that the run is not part of."""
    for index, entry in enumerate(run.data):
        named = metadata.transaction_of(entry)
        if named != run.transaction and index not in run.traits.corrupt:
            yield index


def _encrypted(entry: bytes) -> bool:
    try:
        return metadata.parse(entry).encryption is not None
    except CorruptEntry:
        return False
