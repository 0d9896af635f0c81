"""Reads one range of one partition: every message of it, once, or an error; never just fewer."""

import logging
from collections.abc import Generator
from contextlib import closing, suppress
from dataclasses import KW_ONLY, dataclass

from magnetar.client import blocking
from magnetar.client.consumers.entry import Entry
from magnetar.errors import EntryNotFound, TimedOut, TopicNotFound
from magnetar.model.position import EARLIEST_MESSAGE, MessageId
from magnetar.spark.connections import client_for
from magnetar.spark.offsets import Offset
from magnetar.spark.planning import Range
from magnetar.spark.range_progress import RangeProgress
from magnetar.spark.read_options import ReadOptions

log = logging.getLogger(__name__)

_WAIT_S = 1.0
"""After this time without a message the broker is asked whether there is one to wait for."""


@dataclass(frozen=True, slots=True)
class RangeReader:
    """Reads ranges the way the options say."""

    client: blocking.Client
    _: KW_ONLY
    rows_max: int
    timeout_s: float
    fail_on_data_loss: bool

    @staticmethod
    def of(options: ReadOptions, *, rows_max: int | None = None) -> "RangeReader":
        """A reader with the client of this process; ``rows_max`` is not more than the option."""
        return RangeReader(
            client_for(options),
            rows_max=min(rows_max or options.rows_per_batch, options.rows_per_batch),
            timeout_s=options.timeout_s,
            fail_on_data_loss=options.fail_on_data_loss,
        )

    def read(self, wanted: Range) -> Generator[list[Entry], None, None]:
        """The entries with the messages of the range, in lists of about ``rows_max`` messages.

        The read begins *at* the message that was read last: that it is still there proves that
        nothing after it was trimmed. It ends with a message that was there when the range was
        planned. Raises EntryNotFound when either is missing (or logs so and goes on, when data
        may be lost), and TimedOut when nothing comes for ``timeout_s``. A topic that was deleted
        in the meantime has lost its end, and is not created again.
        """
        progress = RangeProgress(wanted)
        with suppress(TopicNotFound), closing(self._received(wanted, progress)) as received:
            for entries in received:
                at_first = progress.first is None
                taken = progress.take(entries)
                if at_first and not progress.begins_where_it_should:
                    self._check_start(wanted)
                if taken:
                    yield taken
                if progress.done:
                    break
        if not progress.found_end:
            self._lost(
                f"{wanted.topic} has no message {wanted.upto}, where the range to read ends; "
                f"the read came to {progress.reached}"
            )

    def end_after(self, wanted: Range, count: int) -> Offset:
        """Where the range's first ``count`` messages end: at its own end when it has no more."""
        with closing(self.read(wanted)) as received:
            for entries in received:
                for entry in entries:
                    if entry.count >= count:
                        return Offset(*entry.delivery.position, entry.indexes[count - 1])
                    count -= entry.count
        return wanted.upto

    def _received(
        self, wanted: Range, progress: RangeProgress
    ) -> Generator[list[Entry], None, None]:
        """What the reader receives, until the topic ends before the range: its end was trimmed."""
        with self._reader(wanted.topic, wanted.start_id, self.rows_max) as reader:
            waited_s = 0.0
            while True:
                entries = reader.receive_entries(self.rows_max, _WAIT_S)
                if entries:
                    waited_s = 0.0
                    yield entries
                    continue
                waited_s += _WAIT_S
                last = reader.last_message_id()
                if last is None or (last.ledger_id, last.entry_id) < wanted.upto[:2]:
                    return
                if waited_s >= self.timeout_s:
                    raise TimedOut(
                        f"{wanted.topic}: nothing came for {waited_s:g} s after "
                        f"{progress.reached}, though the range goes on to {wanted.upto}. If the "
                        "broker is only slow, raise the option timeoutSeconds; if the range ends "
                        "inside a message in chunks, read up to another one"
                    )

    def _check_start(self, wanted: Range) -> None:
        """The first message received lies after the one read last. Is that one still there?

        It may be, unseen: a reader cannot begin at the last chunk of a message in chunks.
        """
        with self._reader(wanted.topic, EARLIEST_MESSAGE, 1) as reader:
            first = reader.receive(self.timeout_s).message_id
        if Offset(first.ledger_id, first.entry_id, first.batch_index) > wanted.after:
            self._lost(
                f"{wanted.topic} was read up to {wanted.after}, but now begins at {first}: "
                "messages in between may have been trimmed before they were read"
            )

    def _reader(self, topic: str, start: MessageId, queue_size: int) -> blocking.Reader:
        return self.client.create_reader(
            topic, start, inclusive=True, receiver_queue_size=queue_size, create_topic=False
        )

    def _lost(self, what: str) -> None:
        if self.fail_on_data_loss:
            raise EntryNotFound(
                f"{what}. To read on from what is left, set failOnDataLoss=false. Unread "
                "messages are kept for streams without subscription=none, and by retention"
            )
        log.warning("spark.data_lost what=%s", what)
