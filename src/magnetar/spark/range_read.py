"""Reads one range of one partition: every message of it, once, or an error; never just fewer."""

import logging
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from typing import Final

from magnetar.client import blocking
from magnetar.client.consumers.config import ConsumerCryptoFailureAction
from magnetar.client.consumers.entry import Entry
from magnetar.client.encryption.keys import CryptoKeyReader, FileKeyReader
from magnetar.errors import CryptoFailed, EntryNotFound, TimedOut, TopicNotFound
from magnetar.model.position import EARLIEST_MESSAGE, MessageId
from magnetar.spark.chunks import NOT_BEGUN
from magnetar.spark.columns import BATCH_BYTES_MAX
from magnetar.spark.connections import client_for
from magnetar.spark.limit import Limit, Measure
from magnetar.spark.offsets import NOTHING_READ
from magnetar.spark.planning import Range
from magnetar.spark.range_progress import RangeProgress
from magnetar.spark.read_options import ReadOptions
from magnetar.spark.topics import PublishTimes, offset_of

log = logging.getLogger(__name__)

_AHEAD_BYTES_MAX: Final = 32 * 1024 * 1024
"""About what the broker sends ahead, while Spark takes what came before."""
_AHEAD_BATCHES: Final = 2
"""So many Arrow batches are sent ahead, as far as the bytes allow."""
_WAIT_S = 1.0
"""After this time without a message the broker is asked whether there is one to wait for."""
LOOK_BACKS_MS: Final = (0, 60_000, 3_600_000)
"""How long before a message in chunks its first one is looked for; then it is taken for lost."""


@dataclass(frozen=True, slots=True)
class RangeReader:
    """Reads ranges the way the options say."""

    client: blocking.Client
    _: KW_ONLY
    rows_max: int
    timeout_s: float
    fail_on_data_loss: bool
    key_reader: CryptoKeyReader | None = None

    @staticmethod
    def of(options: ReadOptions, *, rows_max: int | None = None) -> "RangeReader":
        """A reader with the client of this process; ``rows_max`` is not more than the option."""
        return RangeReader(
            client_for(options),
            rows_max=min(rows_max or options.rows_per_batch, options.rows_per_batch),
            timeout_s=options.timeout_s,
            fail_on_data_loss=options.fail_on_data_loss,
            key_reader=FileKeyReader(private=options.private_key) if options.private_key else None,
        )

    def read(self, wanted: Range) -> Generator[list[Entry], None, None]:
        """The entries with the messages of the range, in lists of about ``rows_max`` messages.

        The read begins *at* the message that was read last: that it is still there proves that
        nothing after it was trimmed. It ends with a message that was there when the range was
        planned. Raises EntryNotFound when either is missing (or logs so and goes on, when data
        may be lost), and TimedOut when nothing comes for ``timeout_s``. A topic that was deleted
        in the meantime has lost its end, and is not created again. A message in chunks is read
        where its last one lies: for those before the range the reader begins again, further back.
        """
        progress = RangeProgress(wanted)
        starts = self._look_backs(wanted, progress)
        for start in chain([wanted.start_id], starts):
            with (
                suppress(TopicNotFound),
                closing(self._received(wanted, progress, start)) as received,
            ):
                for entries in received:
                    at_first = progress.first is None
                    taken = progress.take(entries)
                    if at_first and not progress.begins_where_it_should:
                        self._check_start(wanted)
                    if taken:
                        yield taken
                    if progress.done or progress.lacking:
                        break
        if not progress.found_end:
            self._lost(
                f"{wanted.topic} has no message {wanted.upto}, where the range to read ends; "
                f"the read came to {progress.reached}"
            )

    def measure(self, wanted: Range, limit: Limit) -> Measure:
        """How far a limit goes in the range: to its own end when it has no more. Raises as read."""
        measure = Measure(limit)
        with closing(self.read(wanted)) as received:
            if all(measure.take(entry) for entries in received for entry in entries):
                measure.end = wanted.upto
        return measure

    def _look_backs(
        self, wanted: Range, progress: RangeProgress
    ) -> Generator[MessageId, None, None]:
        """Where to begin again, as long as a message lacks its first chunks.

        All chunks of a message carry the same publish time, but producers' clocks differ.
        """
        times = PublishTimes(self.client, self.timeout_s)
        while (lacking := progress.lacking) is not None:
            for back_ms in LOOK_BACKS_MS:
                place = times.before(wanted.topic, max(lacking.publish_time_ms - back_ms, 0))
                if place is not None and place[:2] < lacking.position:
                    progress.begin_again()
                    yield replace(wanted, after=place).start_id
                    if progress.lacking is None or progress.lacking.position != lacking.position:
                        break
            else:
                what = (
                    f"{wanted.topic} has a message in chunks that ends at {lacking.position} and "
                    f"cannot be put together: {lacking.reason}"
                )
                if lacking.reason == NOT_BEGUN and wanted.after == NOTHING_READ:
                    log.warning("spark.left_out what=%s", what)  # The topic begins inside of it.
                else:
                    self._lost(what)
                progress.give_up()
                yield wanted.start_id

    def _received(
        self, wanted: Range, progress: RangeProgress, start: MessageId
    ) -> Generator[list[Entry], None, None]:
        """What the reader receives, until the topic ends before the range: its end was trimmed."""
        with self._reader(wanted.topic, start, _AHEAD_BATCHES * self.rows_max) as reader:
            waited_s = 0.0
            while True:
                entries = reader.receive_entries(self.rows_max, _WAIT_S, bytes_max=BATCH_BYTES_MAX)
                if entries:
                    waited_s = 0.0
                    self._check_decrypted(entries)
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
                        "broker is only slow, raise the option timeoutSeconds"
                    )

    def _check_decrypted(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            if not entry.delivery.decrypted:
                encryption = entry.delivery.metadata.encryption
                assert encryption is not None, "it was not decrypted"
                names = ", ".join(key.name for key in encryption.keys)
                why = "not with the key of" if self.key_reader else "there is no key: set"
                raise CryptoFailed(
                    f"{entry.delivery.topic}: message {entry.last_id} is encrypted for {names}, "
                    f"and {why} the option encryption.privateKey, the path of a private key in "
                    "PEM, with {name} for the name of the key where there are several"
                )

    def _check_start(self, wanted: Range) -> None:
        """The first message received lies after the one read last: is nothing trimmed between?"""
        with self._reader(wanted.topic, EARLIEST_MESSAGE, 1) as reader:
            message = reader.receive(self.timeout_s)
        first = offset_of(message.message_id)
        if first is not None and first > wanted.after:
            since = datetime.fromtimestamp(message.publish_time_ms // 1000, UTC).isoformat()
            self._lost(
                f"{wanted.topic} was read up to {wanted.after}, but now begins at {first}, "
                f"published {since}: messages in between may have been trimmed before they were "
                "read, or the topic was deleted and made anew"
            )

    def _reader(self, topic: str, start: MessageId, queue_size: int) -> blocking.Reader:
        return self.client.create_reader(
            topic,
            start,
            inclusive=True,
            receiver_queue_size=queue_size,
            receiver_queue_bytes_max=_AHEAD_BYTES_MAX,
            create_topic=False,
            join_chunks=False,
            crypto_key_reader=self.key_reader,
            crypto_failure_action=ConsumerCryptoFailureAction.CONSUME,  # To be told of it.
        )

    def _lost(self, what: str) -> None:
        if self.fail_on_data_loss:
            raise EntryNotFound(
                f"{what}. To read on from what is left, set failOnDataLoss=false. Unread "
                "messages are kept for streams without subscription=none, and by retention"
            )
        log.warning("spark.data_lost what=%s", what)
