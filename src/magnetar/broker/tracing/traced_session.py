"""A session that makes spans of what its client publishes and is sent.

Everything that a client sends to topics, and that they answer, passes through its session: so this
is the one place that sees a publish come in and go out, whatever kind its topic is. A send is found
again by producer and sequence id, a delivery by consumer and position.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from magnetar.broker.session import OpenConsumer, Session
from magnetar.broker.topics.publishing.producer import Producer
from magnetar.errors import MagnetarError
from magnetar.late_dataclass import dataclass
from magnetar.loop_iteration import Phase
from magnetar.message.send_run import SendRun
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.run import EntryRun

from .traceparent import Parent
from .traces import SYSTEM, Traces

if TYPE_CHECKING:  # It imports OpenTelemetry.
    from opentelemetry.sdk.trace import Span

DELIVERIES_OPEN_MAX: Final = 1000
"""Deliveries to one client whose acknowledgement is awaited; with one more, the oldest no more."""

_Sent = tuple[int, int]  # producer and sequence id
_Delivered = tuple[int, int, int]  # consumer id, ledger id, entry id


@dataclass(slots=True)
class _Publish:
    """A send that is traced, and when it came."""

    span: "Span"
    came_at: float


class TracedSession(Session):
    """One client's producers and consumers."""

    __slots__ = ("_deliveries", "_publishes", "_throttled_at", "_traces")

    def __init__(self, traces: Traces, **parts: Any) -> None:
        super().__init__(**parts)
        self._traces = traces
        self._publishes: dict[_Sent, _Publish] = {}
        self._deliveries: dict[_Delivered, Span] = {}
        self._throttled_at: float | None = None  # Its client was last told to wait.

    def publish(self, producer: Producer, run: SendRun) -> None:
        traces, now = self._traces, self._traces.clock.now()
        for index, parent in traces.sampling.choose(run.data, now):
            self._start(producer, run, index, parent, now)
        self._throttled_at = None
        super().publish(producer, run)

    def _start(
        self, producer: Producer, run: SendRun, index: int, parent: Parent | None, now: float
    ) -> None:
        topic, key = producer.topic, (run.producer_id, run.sequences[index])
        if topic is None or key in self._publishes:
            return  # It is sent again before the first was answered.
        attributes: dict[str, str | int | float | bool] = {
            **SYSTEM,
            "messaging.operation.name": "publish",
            "messaging.operation.type": "send",
            "messaging.destination.name": str(topic),
            "messaging.message.envelope.size": len(run.data[index]),
            "messaging.batch.message_count": run.traits.message_counts[index],
            "magnetar.producer.name": producer.name,
            "client.address": self.address,
        }
        if topic.partition_index >= 0:
            attributes["messaging.destination.partition.id"] = str(topic.partition_index)
        if self._throttled_at is not None:
            attributes["magnetar.throttled_before_s"] = round(now - self._throttled_at, 6)
        span = self._traces.spans.start(f"publish {topic}", parent, attributes, server=True)
        self._publishes[key] = _Publish(span, now)

    def read_later(self, wait_s: Callable[[], float]) -> None:
        if self._throttled_at is None:
            self._throttled_at = self._traces.clock.now()
        super().read_later(wait_s)

    def send_receipts(self, run: SendRun, ledger_id: int, first_entry_id: int) -> None:
        super().send_receipts(run, ledger_id, first_entry_id)
        for index, publish in self._answered(run):
            entry_id = first_entry_id + index
            publish.span.set_attribute("messaging.message.id", f"{ledger_id}:{entry_id}")
            self._traces.followed.add(ledger_id, entry_id, publish.span)
            self._end_stored(publish)

    def send_unstored_receipts(self, run: SendRun, *, delivered: bool) -> None:
        super().send_unstored_receipts(run, delivered=delivered)
        outcome = "passed on" if delivered else "dropped, or stored before"
        for _, publish in self._answered(run):
            self._traces.spans.end(publish.span, {"magnetar.outcome": outcome})

    def send_errors(self, run: SendRun, error: MagnetarError) -> None:
        super().send_errors(run, error)
        for _, publish in self._answered(run):
            self._traces.spans.end(publish.span, error=error)

    def drop_sends(self, run: SendRun) -> None:
        super().drop_sends(run)
        for _, publish in self._answered(run):
            self._traces.spans.end(publish.span, error="its producer was closed")

    def _answered(self, run: SendRun) -> list[tuple[int, _Publish]]:
        """The traced sends of a run that are answered with this."""
        if not self._publishes:
            return []
        found = []
        for index, sequence in enumerate(run.sequences):
            publish = self._publishes.pop((run.producer_id, sequence), None)
            if publish is not None:
                found.append((index, publish))
        return found

    def _end_stored(self, publish: _Publish) -> None:
        """Let the span end when the receipt is handed to the socket, in this iteration."""
        traces = self._traces
        stored_at, times = traces.clock.now(), traces.log_times()

        def end() -> None:
            part, span, came_at = traces.spans.part, publish.span, publish.came_at
            if times is not None and times.written >= came_at:
                began, written = max(times.began - came_at, 0), times.written - came_at
                begin_answer = times.synced - came_at
                group = {"magnetar.group.size_bytes": times.size_bytes}
                part("wait", span, 0, began, {})
                part("write", span, began, written, group)
                part("sync", span, written, begin_answer, group)
            else:  # In memory.
                begin_answer = stored_at - came_at
                part("store", span, 0, begin_answer, {})
            end_s = traces.clock.now() - came_at
            part("answer", span, begin_answer, end_s, {})
            traces.spans.end(span, {"magnetar.outcome": "stored"}, end_s=end_s)

        traces.iteration.at_end(Phase.SEND, end)

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
        super().send_entries(
            consumer_id,
            run,
            picked=picked,
            partition=partition,
            redelivery_counts=redelivery_counts,
            ack_sets=ack_sets,
            consumer_epoch=consumer_epoch,
        )
        indexes = range(len(run)) if picked is None else picked
        entry_ids = [run.first_entry_id + index for index in indexes]
        opened = self.consumers.open.get(consumer_id)
        for entry_id, span in self._traces.followed.among(run.ledger_id, entry_ids):
            if opened is not None and self._traces.admits_delivery():
                again = 0
                if redelivery_counts is not None:
                    again = redelivery_counts[entry_ids.index(entry_id)]
                self._deliver(opened, Position(run.ledger_id, entry_id), span, again)

    def _deliver(
        self, opened: OpenConsumer, position: Position, published: "Span", again: int
    ) -> None:
        key = opened.consumer.consumer_id, position.ledger_id, position.entry_id
        self._end(key, "delivered again")
        if len(self._deliveries) >= DELIVERIES_OPEN_MAX:
            self._end(next(iter(self._deliveries)), "not awaited")
        subscription = opened.subscription.name
        attributes: dict[str, str | int] = {
            **SYSTEM,
            "messaging.operation.name": "deliver",
            "messaging.destination.name": str(opened.topic.name),
            "messaging.destination.subscription.name": subscription,
            "messaging.message.id": f"{position.ledger_id}:{position.entry_id}",
            "magnetar.consumer.name": opened.consumer.name,
            "magnetar.redelivery_count": again,
            "client.address": self.address,
        }
        name = f"deliver {subscription}"
        self._deliveries[key] = self._traces.spans.start(name, published, attributes)

    # The handler of consumers' commands calls what follows.

    def acknowledged(self, consumer_id: int, ledger_id: int, entry_ids: Iterable[int]) -> None:
        """End the spans of entries that were acknowledged as a whole."""
        if self._deliveries:
            for entry_id in entry_ids:
                self._end((consumer_id, ledger_id, entry_id), "acknowledged")

    def acknowledged_up_to(self, consumer_id: int, position: Position) -> None:
        """All entries up to this one are."""
        self._end_where(
            lambda key: key[0] == consumer_id and Position(*key[1:]) <= position, "acknowledged"
        )

    def given_back(self, consumer_id: int, positions: Iterable[Position] | None) -> None:
        """The client wants these again, or all that the consumer holds; or it closed that."""
        if positions is None:
            self._end_where(lambda key: key[0] == consumer_id, "given back")
        elif self._deliveries:
            for position in positions:
                self._end((consumer_id, position.ledger_id, position.entry_id), "given back")

    def close_consumer(self, consumer_id: int, to: BrokerAddress | None = None) -> None:
        super().close_consumer(consumer_id, to)
        self.given_back(consumer_id, None)

    async def close(self) -> None:
        self._end_where(lambda _: True, "connection lost")
        await super().close()

    def _end_where(self, condition: Callable[[_Delivered], bool], outcome: str) -> None:
        for key in [each for each in self._deliveries if condition(each)]:
            self._end(key, outcome)

    def _end(self, key: _Delivered, outcome: str) -> None:
        span = self._deliveries.pop(key, None)
        if span is not None:
            self._traces.spans.end(span, {"magnetar.outcome": outcome})
