"""One instance of a function: receives, processes, sends, writes state, acknowledges; in a loop.

Messages go through it in runs. The order of the steps is what the guarantees are made of:

    ATMOST_ONCE       acknowledge, process, send
    ATLEAST_ONCE      process, send, write the state, acknowledge
    EFFECTIVELY_ONCE  process; send, write the state and acknowledge in one transaction. Where the
                      broker has none: as above, but each message is sent once (``sending.py``), and
                      the position is written with the state
    MANUAL            process, send, write the state; acknowledge what the function says
"""

import logging
import re
import threading
import traceback
from collections.abc import Iterable, Sequence
from typing import Any, Final

from magnetar.client import blocking
from magnetar.client.admin_api import AdminApi
from magnetar.client.consumers.config import ConsumerOptions
from magnetar.client.consumers.dead_letter_policy import DeadLetterPolicy
from magnetar.client.message import Message
from magnetar.clock import Clock
from magnetar.errors import InvalidValue, MagnetarError, NotAllowed, TopicNotFound
from magnetar.functions.config import FunctionConfig, ProcessingGuarantees, SubscriptionPosition
from magnetar.functions.context import State
from magnetar.functions.instance_metrics import InstanceMetrics
from magnetar.functions.log_lines import LogLines, logger_of
from magnetar.functions.processing import Outcome, Processor, dead_letter_topic, in_order
from magnetar.functions.sending import OnceSender, Outgoing, PlainSender, Producers, Sender
from magnetar.functions.state_topic import StateTopic
from magnetar.model.names import TopicName
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.spark.admin import TopicAdmin
from magnetar.spark.client_settings import ClientSettings, OfClient

log = logging.getLogger(__name__)

RUN_MESSAGES_MAX: Final = 1000
"""The most messages processed before their outputs are sent and they are acknowledged."""
_IDLE_S: Final = 0.25
_ERROR_PAUSE_S: Final = 1.0
_PARTITIONS_CHECK_S: Final = 60.0
_TRANSACTION_S: Final = 10.0
"""How long what an instance had sent when it was killed keeps readers of its output waiting."""


class Instance:
    """Runs until it is told to stop. May be used once."""

    def __init__(
        self,
        client: blocking.Client,
        config: FunctionConfig,
        instance_id: int = 0,
        *,
        clock: Clock,
        admin_url: str | None = None,
        client_settings: OfClient | None = None,
        redelivery_delay_s: float = 60.0,
    ) -> None:
        """The admin API is asked as ``client_settings`` say, with credentials and TLS.

        Raises InvalidValue for what the code does not have, or cannot be done.
        """
        settings = client_settings or ClientSettings()
        self._client = client
        self._config = config
        self._clock = clock
        self._once = config.processing_guarantees is ProcessingGuarantees.EFFECTIVELY_ONCE
        self._in_transactions = self._once and has_transactions(client)
        self._most_once = config.processing_guarantees is ProcessingGuarantees.ATMOST_ONCE
        self._manual = config.processing_guarantees is ProcessingGuarantees.MANUAL or not (
            config.auto_ack or config.window_config
        )
        self._instance_id = instance_id
        self._redelivery_delay_s = redelivery_delay_s
        self._stopping = threading.Event()
        self.metrics = InstanceMetrics()
        self._lines = LogLines(config, instance_id)
        admin = None if admin_url is None else AdminApi(admin_url, **settings.options())
        self._state = StateTopic(client, config, instance_id, admin=admin)
        self._processor = Processor(
            config,
            instance_id=instance_id,
            state=self._state_now,
            clock=clock,
            logger=logger_of(config, instance_id, self._lines),
            metrics=self.metrics,
        )
        producers = Producers(client, config, instance_id, self._processor.values.output.schema)
        self._sender = self._sender_of(producers, admin_url, settings)
        self._log_sender = PlainSender(producers)
        self._done: dict[str, tuple[int, ...]] = {}  # By topic: nothing up to here comes again.

    def run(self) -> None:
        """Return when it was stopped. Raises what ends it: what it had received comes again."""
        try:
            for topic, place in self._state.positions().items():
                self._done[topic] = tuple(int(part) for part in place.split(":"))
            while not self._stopping.is_set():
                partitions = self._assigned() if self._once else []
                if self._once and not partitions:
                    log.warning("function.idle instance=%d: no partition left", self._instance_id)
                    self._stopping.wait(_PARTITIONS_CHECK_S)
                    continue
                with self._subscribe(partitions) as consumer:
                    self._loop(consumer, partitions)
        finally:
            self._sender.close()
            self._log_sender.close()
            self._state.close()
            self._processor.close()

    def stop(self) -> None:
        """Have ``run`` return behind the messages under way. From any thread."""
        self._stopping.set()

    def _loop(self, consumer: blocking.Consumer[Any], partitions: list[str]) -> None:
        """Return when it was stopped, or has other partitions."""
        check_at = self._clock.now() + _PARTITIONS_CHECK_S
        while not self._stopping.is_set():
            messages = consumer.receive_many(RUN_MESSAGES_MAX, self._wait_s())
            if self._most_once and messages:
                consumer.acknowledge(messages)
                consumer.flush()
            self._process(consumer, messages)
            if self._once and self._clock.now() >= check_at:
                check_at = self._clock.now() + _PARTITIONS_CHECK_S
                if self._assigned() != partitions:
                    return

    def _process(self, consumer: blocking.Consumer[Any], messages: Sequence[Message[Any]]) -> None:
        known = [message for message in messages if self._is_known(message)]
        new = (
            [message for message in messages if not self._is_known(message)] if known else messages
        )
        outcome = self._processor.run(new)
        positions = {topic: _text(place) for topic, place in _places(new).items()}
        if self._in_transactions:
            if messages:
                self._finish_in_transaction(consumer, outcome, known, positions)
        else:
            try:
                self._sender.send(outcome.sent)
            except MagnetarError as error:
                self._not_sent(error)
                outcome = self._sent_one_by_one(outcome)
            self._state.write(positions)
            self._acknowledge(consumer, outcome, known)
        if self._once:
            self._done |= _places(new)
        lines = self._lines.messages()
        if lines:
            self._log(lines)

    def _finish_in_transaction(
        self,
        consumer: blocking.Consumer[Any],
        outcome: Outcome,
        known: list[Message[Any]],
        positions: dict[str, str],
    ) -> None:
        """Raises what keeps it from being committed: the state that is here counts no more."""
        try:
            with self._client.transaction(_TRANSACTION_S) as txn:
                self._sender.send(outcome.sent, txn)
                self._state.write(positions, txn)
                self._acknowledge(consumer, outcome, known, txn)
        except MagnetarError as error:
            self._not_sent(error)

    def _sent_one_by_one(self, outcome: Outcome) -> Outcome:
        """Send again what was not stored, input by input: one may have failed for all.

        What one input has sent to a topic that is not to be had keeps no others from going on.
        """
        by_cause: dict[int, list[Outgoing]] = {}
        for each in outcome.sent:
            by_cause.setdefault(id(each.cause), []).append(each)
        unsent = set()
        for cause, sent in by_cause.items():
            try:
                self._sender.send(sent)
            except MagnetarError as error:
                self._not_sent(error)
                unsent.add(cause)
        if id(None) in unsent:  # Of a window: its inputs are not told apart.
            unsent.update(map(id, outcome.done))
        self._stopping.wait(_ERROR_PAUSE_S)
        return Outcome(
            done=[each for each in outcome.done if id(each) not in unsent],
            failed=[*outcome.failed, *(each for each in outcome.done if id(each) in unsent)],
            acknowledged=[each for each in outcome.acknowledged if id(each) not in unsent],
        )

    def _not_sent(self, error: MagnetarError) -> None:
        """Where order counts nothing can come later: raises ``error``."""
        self.metrics.system.add(traceback.format_exc(), self._clock.wall_ms())
        log.warning("function.not_sent function=%s error=%s", self._config.fqfn, error)
        if in_order(self._config):
            raise error

    def _acknowledge(
        self,
        consumer: blocking.Consumer[Any],
        outcome: Outcome,
        known: list[Message[Any]],
        txn: blocking.Transaction | None = None,
    ) -> None:
        if self._manual:
            done = outcome.acknowledged
        else:
            done = [each for each in outcome.done if isinstance(each, Message)]
        if self._most_once:
            return
        if done or known:
            consumer.acknowledge([*known, *done], txn=txn)
        if outcome.failed:
            consumer.negative_acknowledge(
                [each for each in outcome.failed if isinstance(each, Message)]
            )

    def _log(self, lines: Iterable[Any]) -> None:
        try:
            self._log_sender.send(lines)
        except MagnetarError as error:
            self.metrics.system.add(traceback.format_exc(), self._clock.wall_ms())
            log.warning("function.not_logged function=%s error=%s", self._config.fqfn, error)

    def _state_now(self) -> State:
        return self._state.state()

    def _is_known(self, message: Message[Any]) -> bool:
        """Whether everything was done for it: only where each message counts once."""
        last = self._done.get(message.topic) if self._once else None
        return last is not None and (*message.delivery.position, message.batch_index) <= last

    def _wait_s(self) -> float:
        due_ms = self._processor.next_ms()
        if due_ms is None:
            return _IDLE_S
        return min(_IDLE_S, max(0.0, (due_ms - self._clock.wall_ms()) / 1000))

    def _sender_of(self, producers: Producers, admin_url: str | None, settings: OfClient) -> Sender:
        if not self._once:
            return PlainSender(producers)
        if admin_url is None:
            raise InvalidValue(
                "EFFECTIVELY_ONCE asks the broker whether it deduplicates: give the admin URL"
            )
        deduplicates = TopicAdmin(admin_url, 30.0, client=settings).deduplicates
        if self._in_transactions:
            return PlainSender(producers, deduplicates)
        return OnceSender(producers, deduplicates)

    def _assigned(self) -> list[str]:
        """The partitions of this instance, where each has one instance."""
        if self._config.topics_patterns:
            raise InvalidValue("EFFECTIVELY_ONCE goes with inputs that are named, not patterns")
        names = []
        for topic in self._config.input_topics:
            name = TopicName.parse(topic)
            try:
                count = self._client.partitions(topic)
            except TopicNotFound:  # It is created when it is subscribed to.
                count = 0
            names += [str(name.partition(index)) for index in range(count)] or [str(name)]
        return sorted(names)[self._instance_id :: self._config.parallelism]

    def _subscribe(self, partitions: list[str]) -> blocking.Consumer[Any]:
        config = self._config
        earliest = config.subscription_position is SubscriptionPosition.EARLIEST
        options: ConsumerOptions = {
            "type": _subscription_type(config),
            "initial_position": InitialPosition.EARLIEST if earliest else InitialPosition.LATEST,
            "negative_ack_delay_s": self._redelivery_delay_s,
            "batch_index_ack": True,  # One that failed brings no others of its batch back.
            "properties": {"application": "pulsar-function", "id": config.fqfn},
        }
        sizes = [spec.receiver_queue_size for spec in config.input_specs.values()]
        given = [size for size in sizes if size is not None]
        if given:
            options["receiver_queue_size"] = min(given)
        if config.timeout_ms is not None:
            options["ack_timeout_s"] = config.timeout_ms / 1000
            options["ack_timeout_tick_s"] = min(1.0, config.timeout_ms / 1000)
        retries = config.max_message_retries
        if retries is not None and retries > 0 and not in_order(config) and not self._most_once:
            options["dead_letter_policy"] = DeadLetterPolicy(retries, dead_letter_topic(config))
        return self._client.subscribe(
            partitions or inputs_of(config),
            config.subscription,
            schema=self._processor.values.consumer_schema,
            **options,
        )


def has_transactions(client: blocking.Client) -> bool:
    """Whether the broker of a client has transactions."""
    try:
        with client.transaction() as txn:
            txn.abort()
    except NotAllowed:
        return False
    return True


def inputs_of(config: FunctionConfig) -> list[str] | re.Pattern[str]:
    """What is subscribed to: the topics, or a pattern. Raises InvalidValue for both."""
    patterns = config.topics_patterns
    if not patterns:
        return list(config.input_topics)
    if config.input_topics or len(patterns) > 1:
        raise InvalidValue("a pattern has to be the only input: write one that matches all topics")
    return re.compile(str(TopicName.parse(patterns[0])))


def _subscription_type(config: FunctionConfig) -> SubscriptionType:
    if in_order(config):
        return SubscriptionType.FAILOVER
    if config.retain_key_ordering:
        return SubscriptionType.KEY_SHARED
    return SubscriptionType.SHARED


def _places(messages: Iterable[Message[Any]]) -> dict[str, tuple[int, ...]]:
    """How far each topic is behind these messages."""
    return {each.topic: (*each.delivery.position, each.batch_index) for each in messages}


def _text(place: tuple[int, ...]) -> str:
    return ":".join(str(part) for part in place)
