"""What a function sends, and the producers that send it: plainly, or each message once.

Once, where the broker has transactions: in the transaction that acknowledges the inputs. Where it
has none: an input's messages go through a producer that is named after the function, the input's
partition and its ledger, with sequence ids made of the place in that ledger. The broker tells such
a producer the highest id that it has, so what was sent for an input before a crash is passed over.
"""

import logging
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Event
from typing import Any, Final, NamedTuple, Protocol

from magnetar.client import blocking
from magnetar.client.message import Message
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.producers.config import ProducerOptions
from magnetar.client.producers.encoding import key_text
from magnetar.client.producers.routing import HashingScheme, key_hash
from magnetar.clock import SystemClock
from magnetar.compat.enums import CompressionType as TheirCompression
from magnetar.compat.enums import Result
from magnetar.compat.message_id import MessageId
from magnetar.errors import BacklogQuotaHeld, NotAllowed, ProducerBusy
from magnetar.functions.config import BatchBuilder, FunctionConfig
from magnetar.message.compression import CompressionType
from magnetar.model.names import TopicName
from magnetar.model.position import MessageId as OurMessageId
from magnetar.schemas.schema import Schema

log = logging.getLogger(__name__)

OUTPUTS_BITS: Final = 12
OUTPUTS_MAX: Final = 1 << OUTPUTS_BITS
"""Messages that are sent for one input, where each is sent once."""
_INDEX_BITS: Final = 20
_BUSY_PAUSE_S: Final = 0.1
_BUSY_MAX_S: Final = 60.0


class Outgoing(NamedTuple):
    """A message to send, and for which input."""

    topic: str
    message: OutgoingMessage
    compression: TheirCompression | None = None  # None: that of the function's output.
    callback: Callable[..., object] | None = None
    cause: Message[Any] | None = None  # None: of a log, a window or a test.


class Sender(Protocol):
    """Sends messages in their order. Close it."""

    def send(self, sent: Iterable[Outgoing], txn: blocking.Transaction | None = None) -> None:
        """Return when they are stored, and their callbacks called. Raises why one is not."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Producers:
    """Opens the producers of a function, as its configuration says."""

    client: blocking.Client
    config: FunctionConfig
    instance_id: int
    schema: Schema[bytes] | None

    def open(
        self, topic: str, compression: TheirCompression | None, name: str | None = None
    ) -> blocking.Producer:
        """A producer; a name that is in use is waited for."""
        own = self.config.producer_config
        options: ProducerOptions = {
            "name": name,
            "chunking": True,
            "send_timeout_s": 0,  # A function waits for its output as long as it takes.
            "compression": (
                CompressionType[own.compression_type.name]
                if compression is None
                else CompressionType(compression.value)
            ),
            "batch_by_key": own.batch_builder is BatchBuilder.KEY_BASED,
            "properties": {
                "application": "pulsar-function",
                "id": self.config.fqfn,
                "instance_id": str(self.instance_id),
            },
        }
        if own.max_pending_messages:
            options["max_pending_messages"] = own.max_pending_messages
        if own.max_pending_messages_across_partitions:
            across = own.max_pending_messages_across_partitions
            options["max_pending_messages_across_partitions"] = across
        schema = self.schema if topic == self.config.output else None
        clock = SystemClock()
        deadline = clock.now() + _BUSY_MAX_S
        while True:
            try:
                return self.client.create_producer(topic, schema=schema, **options)
            except ProducerBusy:  # Of an instance that was killed: its connection ends soon.
                if name is None or clock.now() > deadline:
                    raise
                Event().wait(_BUSY_PAUSE_S)
            except BacklogQuotaHeld as error:  # The client has waited already, and does so again.
                log.warning("function.held topic=%s error=%s", topic, error)


class PlainSender:
    """One producer for each topic, which has to deduplicate if ``deduplicates`` is given."""

    def __init__(
        self, producers: Producers, deduplicates: Callable[[str], bool] | None = None
    ) -> None:
        self._producers = producers
        self._deduplicates = deduplicates
        self._open: dict[str, blocking.Producer] = {}
        self._closing = ExitStack()

    def send(self, sent: Iterable[Outgoing], txn: blocking.Transaction | None = None) -> None:
        by_topic: dict[str, list[Outgoing]] = {}
        for each in sent:
            by_topic.setdefault(each.topic, []).append(each)
        for topic, there in by_topic.items():
            if topic not in self._open:
                producer = self._producers.open(topic, there[0].compression)
                self._open[topic] = self._closing.enter_context(producer)
                if self._deduplicates is not None:
                    _check(_partition_of(topic, producer), self._deduplicates)
            ids = self._open[topic].send_many([each.message for each in there], txn=txn)
            for each, message_id in zip(there, ids, strict=True):
                if each.callback is not None:
                    _tell(each.callback, message_id)

    def close(self) -> None:
        self._closing.close()


class _Numbered(NamedTuple):
    """What has one producer: for each input ledger and each partition of a topic, its own."""

    topic: str  # A partition, where there are partitions.
    source: str  # The input's partition.
    ledger_id: int


class OnceSender:
    """Sends each message once, however often its input is processed. Needs no transaction."""

    def __init__(self, producers: Producers, deduplicates: Callable[[str], bool]) -> None:
        """``deduplicates`` says whether the broker does so for a topic that is loaded."""
        self._producers = producers
        self._deduplicates = deduplicates
        self._partitions: dict[str, int] = {}
        self._open: dict[_Numbered, tuple[blocking.Producer, int]] = {}

    def send(self, sent: Iterable[Outgoing], txn: blocking.Transaction | None = None) -> None:
        """Raises NotAllowed for a topic that does not deduplicate."""
        assert txn is None, "the producers' numbers are what makes it once"
        placed: dict[_Numbered, list[Outgoing]] = {}
        count, before = 0, None
        for each in sent:
            cause = each.cause
            assert cause is not None, "only what has an input can be sent once"
            count = count + 1 if cause is before else 0
            before = cause
            if count >= OUTPUTS_MAX:
                raise NotAllowed(f"more than {OUTPUTS_MAX} messages were sent for {cause}")
            each.message.sequence_id = sequence_id(cause, count)
            source = cause.delivery.topic
            key = _Numbered(self._partition(each), source, cause.delivery.position.ledger_id)
            placed.setdefault(key, []).append(each)
        for key, there in placed.items():
            producer, last = self._producer(key, there[0].compression)
            new = [each for each in there if (each.message.sequence_id or 0) > last]
            ids = producer.send_many([each.message for each in new])
            for each, message_id in zip(new, ids, strict=True):
                if each.callback is not None:
                    _tell(each.callback, message_id)

    def close(self) -> None:
        for producer, _ in self._open.values():
            producer.close()

    def _partition(self, each: Outgoing) -> str:
        """Choose a partition, the same each time: by the key, or else by the input's position."""
        topic, count = each.topic, self._partitions.get(each.topic)
        if count is None:
            self._producers.open(topic, each.compression).close()  # Creates it, where allowed.
            count = self._partitions[topic] = self._producers.client.partitions(topic)
        if not count:
            return topic
        key = key_text(each.message.key)
        place = each.message.sequence_id or 0
        index = key_hash(key, HashingScheme.JAVA_STRING) if key else place >> OUTPUTS_BITS
        return str(TopicName.parse(topic).partition(index % count))

    def _producer(
        self, key: _Numbered, compression: TheirCompression | None
    ) -> tuple[blocking.Producer, int]:
        """The producer, and the highest sequence id that was stored when it came."""
        if key not in self._open:
            for other in [each for each in self._open if _is_older(each, key)]:
                self._open.pop(other)[0].close()
            name = f"function:{self._producers.config.fqfn}:{key.source}:{key.ledger_id}"
            producer = self._producers.open(key.topic, compression, name)
            try:
                _check(key.topic, self._deduplicates)
            except NotAllowed:
                producer.close()
                raise
            self._open[key] = producer, producer.last_sequence_id
        return self._open[key]


def _partition_of(topic: str, producer: blocking.Producer) -> str:
    """The first partition of a topic that has some."""
    return str(TopicName.parse(topic).partition(0)) if producer.partitions else topic


def _check(topic: str, deduplicates: Callable[[str], bool]) -> None:
    if not deduplicates(topic):
        raise NotAllowed(
            f"{topic} does not deduplicate, so EFFECTIVELY_ONCE cannot be kept: switch it on (POST "
            "true to /admin/v2/namespaces/<namespace>/deduplication, or "
            "brokerDeduplicationEnabled), or use ATLEAST_ONCE"
        )


def sequence_id(cause: Message[Any], count: int) -> int:
    """The number of an input's ``count``-th message: rises with the place in the input's ledger."""
    index = cause.batch_index + 1
    assert index >> _INDEX_BITS == 0, "more messages than a batch may have"
    place = cause.delivery.position.entry_id << _INDEX_BITS | index
    return place << OUTPUTS_BITS | count


def _tell(callback: Callable[..., object], message_id: OurMessageId) -> None:
    """Call a function's callback, whose errors are the function's own."""
    try:
        callback(Result.Ok, MessageId._of(message_id))  # noqa: SLF001 - the package is ours.
    except Exception:
        log.exception("function.callback_failed")


def _is_older(one: _Numbered, other: _Numbered) -> bool:
    return one[:2] == other[:2] and one.ledger_id < other.ledger_id
