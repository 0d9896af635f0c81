"""A client's producers and consumers, and answers to it: ``topics/client_connection.py``."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, field
from typing import Final, Protocol

from magnetar.clock import Clock
from magnetar.errors import ChecksumMismatch, MagnetarError, Refused
from magnetar.late_dataclass import dataclass
from magnetar.message.send_run import SendRun
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.names import NamespaceName
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.tasks import Tasks
from magnetar.wire import replies

from .attachments import Attachments
from .outbox import Outbox
from .pending_publishes import PendingPublishes
from .read_pause import PauseReason, ReadPause
from .shared_frames import SharedFrames
from .topics.publishing.producer import Producer
from .topics.subscriptions.consumer import Consumer
from .topics.subscriptions.subscription import Subscription
from .topics.topic import Topic

log = logging.getLogger(__name__)

REQUESTS_PENDING_MAX: Final = 1000
LATE_SENDS_S: Final = 30.0  # How long sends to a producer that the broker closed may still come.
RATE_PAUSE_S_MAX: Final = 20.0
"""A client that is faster than its rate is read a little after so long: it may be gone."""
_CLOSE_COMMANDS_SINCE: Final = 5  # Protocol versions: what an older client does not understand.
_END_OF_TOPIC_SINCE: Final = 9
_ACTIVE_CHANGE_SINCE: Final = 12
CPP_CLIENT: Final = "Pulsar-CPP"
"""How clients made of the C++ library, such as Python's, begin their version. They need tact.

When a CONNECT is refused, or a send for anything but its checksum, they say nothing and connect
again and again until they time out. After a refused send they also repeat, ten times a second, all
sends behind it, and the good ones are stored each time.
"""


@dataclass(frozen=True, slots=True)
class OpenConsumer:
    """A consumer, with its subscription and its topic."""

    topic: Topic
    subscription: Subscription
    consumer: Consumer

    async def leave(self) -> None:
        await self.topic.leave(self.subscription, self.consumer)


class TopicListWatcher(Protocol):
    """Tells the client which topics of a namespace come and go, until it is ended."""

    @property
    def namespace(self) -> NamespaceName: ...

    def end(self) -> None: ...


async def _detach(producer: Producer) -> None:
    producer.detach()


def _too_late(_reason: str) -> None:
    """Stands for closing a connection that is lost."""


def _no_producers() -> Attachments[Producer]:
    return Attachments("producer", "maxProducersPerConnection", _detach)


def _no_consumers() -> Attachments[OpenConsumer]:
    return Attachments("consumer", "maxConsumersPerConnection", OpenConsumer.leave)


@dataclass(slots=True, eq=False)
class Session:
    """One client's producers and consumers."""

    _: KW_ONLY
    hang_up_written: Callable[[str], None]  # Closes the connection once everything is written.
    cut_off: Callable[[str], None]  # Closes it at once.
    address: str
    outbox: Outbox
    read_pause: ReadPause
    pending_publishes: PendingPublishes
    shared_frames: SharedFrames
    liveness_timeout_s: float
    clock: Clock
    tasks: Tasks
    certificate: str | None = None  # The common name in the client's, if it showed one over TLS.
    client_version: str = ""
    protocol_version: int = -1  # Until CONNECT.
    replicates_by_position: bool = False  # Receipts for its replicators name places there.
    role: str | None = None  # None: nobody is asked who it is.
    proxy_role: str | None = None  # Of the proxy in between, which needs permissions too.
    signing_in: bool = False  # It said CONNECT, and its credentials are being checked.
    unwelcome: str = ""  # Why each of its requests is refused.
    when_closed: Callable[[], None] | None = None
    producers: Attachments[Producer] = field(default_factory=_no_producers)
    consumers: Attachments[OpenConsumer] = field(default_factory=_no_consumers)
    watchers: dict[int, TopicListWatcher] | None = None
    """By their ids; None: there never was any."""
    _requests_pending: int = 0
    # The producers that the broker closed, and until when sends to them may still come.
    _closed_producers: dict[int, float] = field(default_factory=dict)
    _sign_of_life: asyncio.Future[bool] | None = None
    _closed: bool = False
    too_fast: bool = False  # The client published more than it may, and is not read.
    _waits: set[Callable[[], float]] | None = None  # Why, and for how long.
    _written: asyncio.Event | None = None  # Set when those who wait may look again.

    # The connection and the handlers call what follows.

    @property
    def closed(self) -> bool:
        """Whether the connection is lost."""
        return self._closed

    @property
    def connected(self) -> bool:
        """Whether the client said CONNECT."""
        return self.protocol_version >= 0

    def greet(self, client_version: str, protocol_version: int) -> None:
        self.signing_in = False
        self.client_version = client_version
        self.protocol_version = protocol_version

    def heard(self) -> None:
        """Note that the client sent something."""
        if self._sign_of_life is not None and not self._sign_of_life.done():
            self._sign_of_life.set_result(True)

    def publish(self, producer: Producer, run: SendRun) -> None:
        """Hand a run to its producer, and count it until it is answered."""
        if run.transaction is not None and not run.usual:
            run = run.naming_its_transaction()
        self.pending_publishes.add(len(run.data), run.size_bytes)
        producer.publish(run)

    def may_be_late(self, producer_id: int) -> bool:
        """Whether a send to this producer may have been on its way when the broker closed it."""
        deadline = self._closed_producers.get(producer_id)
        return deadline is not None and self.clock.now() < deadline

    def reply(self, data: bytes) -> None:
        """Answer a request with a whole frame."""
        self.outbox.put(data)

    def request_began(self) -> None:
        self._requests_pending += 1
        if self._requests_pending >= REQUESTS_PENDING_MAX:
            self.read_pause.pause(PauseReason.PENDING_REQUESTS)

    def request_ended(self) -> None:
        self._requests_pending -= 1
        if self._requests_pending <= REQUESTS_PENDING_MAX // 2:
            self.read_pause.resume(PauseReason.PENDING_REQUESTS)

    async def until_writable(self) -> bool:
        """Wait until the client has read what was sent before. False: it is gone."""
        while not (self._closed or self.writable):
            if self._written is None:
                self._written = asyncio.Event()
                self.when_writable(self._look_again)
            await self._written.wait()
        return not self._closed

    def hang_up(self, reason: str) -> None:
        """Close the connection once everything sent before is written."""
        self.hang_up_written(reason)

    async def close(self) -> None:
        """Detach everything, since the connection is lost. It must be called just once."""
        self._closed = True
        self._look_again()
        # The connection refers to the session too: cycles are collected late and hold a lot.
        self.hang_up_written = self.cut_off = _too_late
        if self.when_closed is not None:
            self.when_closed()
            self.when_closed = None
        if self._sign_of_life is not None and not self._sign_of_life.done():
            self._sign_of_life.set_result(False)
        for watcher in list((self.watchers or {}).values()):
            watcher.end()
        producers, consumers = self.producers.close_all(), self.consumers.close_all()
        for producer in producers:
            producer.detach()
        for opened in consumers:
            try:
                await opened.leave()
            except Exception as error:  # noqa: BLE001 - the others must be detached all the same
                log.error(  # noqa: TRY400 - what failed is known; where is in the error
                    "consumer.leave_failed topic=%s error=%r", opened.topic.name, error
                )

    def _look_again(self) -> None:
        written, self._written = self._written, None
        if written is not None:
            written.set()

    # The topics call what follows.

    @property
    def writable(self) -> bool:
        return self.outbox.writable

    def when_writable(self, wake: Callable[[], None]) -> None:
        self.outbox.when_writable(wake)

    def read_later(self, wait_s: Callable[[], float]) -> None:
        if self._waits is None:
            self._waits, self.too_fast = {wait_s}, True
            self.read_pause.pause(PauseReason.PUBLISH_RATE)
            self.tasks.spawn("publish rate", self._wait_for_rates(self._waits))
        else:
            self._waits.add(wait_s)

    async def alive(self) -> bool:
        """Ask whether the client is there; one that the broker keeps waiting counts as alive."""
        if self._closed:
            return False
        if self.read_pause.caused_by_broker:
            return True
        if self._sign_of_life is None or self._sign_of_life.done():
            self._sign_of_life = asyncio.get_running_loop().create_future()
        sign = self._sign_of_life
        self.outbox.put(replies.ping())
        timer = self.tasks.spawn("liveness", self._give_up_without(sign))
        try:
            return await asyncio.shield(sign)
        finally:
            timer.cancel()

    def send_receipts(self, run: SendRun, ledger_id: int, first_entry_id: int) -> None:
        self.outbox.put(replies.send_receipts(run, ledger_id, first_entry_id))
        self.pending_publishes.settle(len(run.data), run.size_bytes)

    def send_unstored_receipts(self, run: SendRun, *, delivered: bool) -> None:
        number = 0 if delivered else -1
        self.outbox.put(replies.unstored_receipts(run, number, number))
        self.pending_publishes.settle(len(run.data), run.size_bytes)

    def send_errors(self, run: SendRun, error: MagnetarError) -> None:
        if isinstance(error, Refused) and self.client_version.startswith(CPP_CLIENT):
            error = ChecksumMismatch(str(error))
        self.outbox.put(replies.send_errors(run, error))
        self.pending_publishes.settle(len(run.data), run.size_bytes)

    def drop_sends(self, run: SendRun) -> None:
        self.pending_publishes.settle(len(run.data), run.size_bytes)

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
        if (picked, redelivery_counts, ack_sets, consumer_epoch) == (None, None, None, None):
            self.outbox.put_all(self.shared_frames.of(consumer_id, run, partition))
            return
        self.outbox.put_all(
            replies.message_frames(
                consumer_id,
                run,
                picked=picked,
                partition=partition,
                redelivery_counts=redelivery_counts,
                ack_sets=ack_sets,
                consumer_epoch=consumer_epoch,
            )
        )

    def send_active_change(self, consumer_id: int, *, active: bool) -> None:
        if self.protocol_version >= _ACTIVE_CHANGE_SINCE:
            self.outbox.put(replies.active_consumer_change(consumer_id, active=active))

    def send_end_of_topic(self, consumer_id: int) -> None:
        # One of the C++ library takes it for damage, and connects again and again.
        cpp = self.client_version.startswith(CPP_CLIENT)
        if self.protocol_version >= _END_OF_TOPIC_SINCE and not cpp:
            self.outbox.put(replies.reached_end_of_topic(consumer_id))

    def close_producer(self, producer_id: int, to: BrokerAddress | None = None) -> None:
        self.producers.open.pop(producer_id, None)
        self._expect_late_sends(producer_id)
        if self.protocol_version < _CLOSE_COMMANDS_SINCE:
            self.hang_up_written("its topic closed, and it is too old to be told")
        else:
            self.outbox.put(replies.close_producer(producer_id, to))

    def close_consumer(self, consumer_id: int, to: BrokerAddress | None = None) -> None:
        self.consumers.open.pop(consumer_id, None)
        if self.protocol_version < _CLOSE_COMMANDS_SINCE:
            self.hang_up_written("its subscription closed, and it is too old to be told")
        else:
            self.outbox.put(replies.close_consumer(consumer_id, to))

    async def _wait_for_rates(self, waits: set[Callable[[], float]]) -> None:
        until = self.clock.now() + RATE_PAUSE_S_MAX
        while not self._closed and self.clock.now() < until:
            longest = max(wait_s() for wait_s in waits)
            if not longest:
                break
            await self.clock.sleep(longest)
        self._waits, self.too_fast = None, False
        self.read_pause.resume(PauseReason.PUBLISH_RATE)

    async def _give_up_without(self, sign: asyncio.Future[bool]) -> None:
        await self.clock.sleep(self.liveness_timeout_s)
        if not sign.done():
            self.cut_off("no sign of life when asked")

    def _expect_late_sends(self, producer_id: int) -> None:
        now = self.clock.now()
        closed = self._closed_producers
        for other in [other for other, deadline in closed.items() if deadline <= now]:
            del closed[other]
        closed[producer_id] = now + LATE_SENDS_S
