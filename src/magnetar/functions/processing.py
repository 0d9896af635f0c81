"""What is done for messages: decode, call the function, encode; exceptions, retries, windows.

Knows no broker: who calls it receives, sends and acknowledges. So an instance in a Spark task, one
without Spark and one in memory do the same.
"""

import inspect
import logging
import traceback
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any, Final

from magnetar.client.consumers.dead_letter_policy import dead_letter
from magnetar.client.message import Message
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.clock import Clock
from magnetar.compat.enums import CompressionType
from magnetar.compat.message import Unreceived
from magnetar.errors import InvalidValue
from magnetar.functions.config import FunctionConfig, ProcessingGuarantees
from magnetar.functions.config_checks import check
from magnetar.functions.context import FunctionContext, State, WindowContext
from magnetar.functions.instance_metrics import InstanceMetrics
from magnetar.functions.loading import UserCode
from magnetar.functions.sending import Outgoing
from magnetar.functions.values import Input, Values
from magnetar.functions.windows import Window, WindowRules, Windows
from magnetar.inner.plain.batches import Single
from magnetar.message.batch import parse_single
from magnetar.message.metadata import Metadata

RETRIES_IN_ORDER: Final = 3
"""How often a message is tried again where order rules redelivery out, unless configured."""

Call = Callable[[Any], Any]


@dataclass(slots=True)
class Outcome:
    """What became of some messages: send, then acknowledge ``done``; ``failed`` come again."""

    sent: list[Outgoing] = field(default_factory=list)
    done: list[Input] = field(default_factory=list)
    failed: list[Input] = field(default_factory=list)
    acknowledged: list[Message[Any]] = field(default_factory=list)  # By the function itself.


class Processor:
    """The function of one instance. Close it."""

    def __init__(
        self,
        config: FunctionConfig,
        *,
        instance_id: int,
        state: Callable[[], State],
        clock: Clock,
        logger: logging.Logger,
        metrics: InstanceMetrics,
    ) -> None:
        """Raises InvalidValue for what cannot run, and what the code does not have."""
        check(config)
        self._config = config
        self._clock = clock
        self._logger = logger
        self._metrics = metrics
        self._retries = _retries_in_order(config)
        self._decoders: dict[str, Callable[[Input], Any]] = {}
        self._windows: Windows[tuple[Input, Any]] | None = None
        with ExitStack() as opened:
            self._code = opened.enter_context(closing(UserCode(config.py)))
            self.values = Values(config, self._code)
            kind = FunctionContext if config.window_config is None else WindowContext
            self._context = kind(
                config,
                instance_id=instance_id,
                logger=logger,
                metrics=metrics,
                serializer=self.values.serializer,
                state=state,
            )
            self._call = _callable(self._code.find(config.class_name), self._context)
            if config.window_config is not None:
                self._windows = Windows(_rules(config), clock.wall_ms(), len(config.input_specs))
                extractor = config.window_config.timestamp_extractor_class_name
                found = None if extractor is None else self._code.find(extractor)
                self._time_of = None if found is None else _extractor(found)
            opened.pop_all()

    def close(self) -> None:
        """Forget the modules of its code."""
        self._code.close()

    def run(self, messages: Sequence[Input]) -> Outcome:
        """Process messages that came, and windows that are due; call it again by ``next_ms``."""
        outcome = Outcome()
        self._metrics.received += len(messages)
        if self._windows is None:
            for message in messages:
                self._process(message, outcome)
        else:
            for message in messages:
                self._add(message, outcome)
                if self._windows.rules.by_count and not self._windows.rules.event_time:
                    self._fire(outcome)
            self._fire(outcome)
        if self._context.acknowledged:
            outcome.acknowledged, self._context.acknowledged = self._context.acknowledged, []
        return outcome

    def next_ms(self) -> int | None:
        """When a window may be due though nothing comes, milliseconds since the epoch."""
        return None if self._windows is None else self._windows.next_ms()

    def _process(self, message: Input, outcome: Outcome) -> None:
        retries = self._retries
        while True:
            if self._tried(message, outcome):
                outcome.done.append(message)
                return
            if retries == 0:
                topic = dead_letter_topic(self._config)
                letter = dead_letter(message) if isinstance(message, Message) else _copy(message)
                outcome.sent.append(_outgoing(topic, letter, message))
                outcome.done.append(message)
                self._logger.error("%s went to %s", message, topic)
                return
            if retries is None:
                outcome.failed.append(message)
                return
            retries -= 1

    def _tried(self, message: Input, outcome: Outcome) -> bool:
        context, clock, metrics = self._context, self._clock, self._metrics
        try:
            value = self._decoder(message.topic)(message)
        except (Exception, SystemExit):  # noqa: BLE001 - whatever a user's code raises.
            self._failed("system", f"{message} cannot be decoded", message)
            return False
        context.begin(message)
        begun = clock.now()
        metrics.last_invocation_ms = clock.wall_ms()
        try:
            output = self._call(value)
        except (Exception, SystemExit):  # noqa: BLE001 - whatever a user's code raises.
            self._failed("user", "Exception while executing user method", message)
            return False
        metrics.busy_s += clock.now() - begun
        try:
            sent = self._output(message, output)
        except (Exception, SystemExit):  # noqa: BLE001 - whatever a user's code raises.
            self._failed("system", f"the output of {message} cannot be encoded", message)
            return False
        if context.sent:
            outcome.sent += [
                _outgoing(each.topic, each.message, message, each.compression, each.callback)
                for each in context.sent
            ]
            context.sent.clear()
        if sent is not None:
            outcome.sent.append(sent)
        metrics.processed += 1
        return True

    def _output(self, message: Input, output: Any) -> Outgoing | None:
        topic = self._config.output
        if output is None or not topic:
            return None
        data = self.values.output.encode(output)
        if data is None:
            return None
        own = _own(message)
        properties = {
            "__pfn_input_topic__": message.topic,
            "__pfn_input_msg_id__": _id_text(message),
        }
        if self._config.forward_source_message_property and own.properties:
            properties = {**own.properties, **properties}
        sent = OutgoingMessage(data, key=_key(message, own), properties=properties)
        return _outgoing(topic, sent, message)

    def _add(self, message: Input, outcome: Outcome) -> None:
        windows = self._windows
        assert windows is not None
        try:
            value = self._decoder(message.topic)(message)
            now_ms = self._clock.wall_ms()
            time_ms = now_ms if self._time_of is None else self._time_of(value, message)
        except (Exception, SystemExit):  # noqa: BLE001 - whatever a user's code raises.
            self._failed("system", f"{message} cannot be decoded", message)
            outcome.failed.append(message)
            return
        if not windows.add((message, value), time_ms, self.values.input_of(message.topic)):
            window_config = self._config.window_config
            assert window_config is not None
            late = window_config.late_data_topic
            if late:
                outcome.sent.append(_outgoing(late, _copy(message), message))
            else:
                self._logger.info("%s is late and left out: its time is %d", message, time_ms)
            outcome.done.append(message)

    def _fire(self, outcome: Outcome) -> None:
        assert self._windows is not None
        for window in self._windows.due(self._clock.wall_ms()):
            done = [message for message, _ in window.done]
            if not window.inputs or self._windowed(window, outcome):
                outcome.done += done
            else:
                outcome.failed += done

    def _windowed(self, window: Window[tuple[Input, Any]], outcome: Outcome) -> bool:
        context, metrics = self._context, self._metrics
        assert isinstance(context, WindowContext)
        context.open([message for message, _ in window.inputs], window.start_ms, window.end_ms)
        begun = self._clock.now()
        metrics.last_invocation_ms = self._clock.wall_ms()
        try:
            output = self._call([value for _, value in window.inputs])
        except (Exception, SystemExit):  # noqa: BLE001 - whatever a user's code raises.
            self._failed("user", "Exception while executing user method")
            return False
        metrics.busy_s += self._clock.now() - begun
        try:
            data = None if output is None else self.values.output.encode(output)
        except (Exception, SystemExit):  # noqa: BLE001 - whatever a user's code raises.
            self._failed("system", "the output of a window cannot be encoded")
            return False
        outcome.sent += context.sent
        context.sent.clear()
        if data is not None and self._config.output:
            outcome.sent.append(Outgoing(self._config.output, OutgoingMessage(data)))
        metrics.processed += len(window.done)
        return True

    def _failed(self, kind: str, what: str, message: Input | None = None) -> None:
        """Record the exception being handled; its message has no output."""
        self._context.sent.clear()
        exceptions = self._metrics.user if kind == "user" else self._metrics.system
        of = {} if message is None else {"topic": message.topic, "messageId": _id_text(message)}
        exceptions.add(traceback.format_exc(), self._clock.wall_ms(), **of)
        self._logger.exception(what)  # noqa: LOG004 - it is called while one is handled.

    def _decoder(self, topic: str) -> Callable[[Input], Any]:
        found = self._decoders.get(topic)
        if found is None:
            found = self._decoders[topic] = self.values.decoder(topic)
        return found


def _callable(found: Any, context: FunctionContext) -> Call:
    """The function as a call with its input: of a class, of a module, or itself."""
    target = found() if isinstance(found, type) else found
    function = target if inspect.isroutine(target) else getattr(target, "process", None)
    if function is None:
        raise InvalidValue(f"{found!r} has no process(input, context)")
    if _arguments(function) >= 2:
        return lambda value: function(value, context)
    return function


def _arguments(function: Any) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return 2
    return sum(
        each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) for each in parameters
    )


def _extractor(found: Any) -> Callable[[Any, Input], int]:
    """``extract_timestamp(input)`` of a class, or a function: milliseconds since the epoch."""
    target = found() if isinstance(found, type) else found
    function = getattr(target, "extract_timestamp", target)
    if not callable(function):
        raise InvalidValue(f"{found!r} has no extract_timestamp(input)")
    return lambda value, _message: int(function(value))


def _rules(config: FunctionConfig) -> WindowRules:
    window = config.window_config
    assert window is not None
    by_count = window.window_length_count is not None
    length = window.window_length_count if by_count else window.window_length_duration_ms
    slide = window.sliding_interval_count if by_count else window.sliding_interval_duration_ms
    if length is None or slide is None:
        raise InvalidValue(
            "a window and its slide are both by count or both by time: give windowLengthCount and "
            "slidingIntervalCount, or windowLengthDurationMs and slidingIntervalDurationMs"
        )
    event_time = window.timestamp_extractor_class_name is not None
    if window.late_data_topic and not event_time:
        raise InvalidValue("lateDataTopic needs timestampExtractorClassName: else nothing is late")
    return WindowRules(
        by_count,
        length,
        slide,
        event_time,
        window.max_lag_ms or 0,
        window.watermark_emit_interval_ms or 1000,
    )


def in_order(config: FunctionConfig) -> bool:
    """Whether each partition's messages are processed in their order, one instance at a time."""
    once = config.processing_guarantees is ProcessingGuarantees.EFFECTIVELY_ONCE
    return config.retain_ordering or once


def _retries_in_order(config: FunctionConfig) -> int | None:
    """How often a message is tried again at once; None: it is delivered again later."""
    if config.processing_guarantees is ProcessingGuarantees.ATMOST_ONCE:
        return None
    asked = config.max_message_retries
    asked = None if asked is None or asked < 0 else asked
    if in_order(config):
        return RETRIES_IN_ORDER if asked is None else asked
    return 0 if asked == 0 else None


def dead_letter_topic(config: FunctionConfig) -> str:
    """Where messages go that were tried often enough."""
    own = f"persistent://{config.tenant}/{config.namespace}/{config.name}-DLQ"
    return config.dead_letter_topic or own


def _outgoing(
    topic: str,
    message: OutgoingMessage,
    cause: Input,
    compression: CompressionType | None = None,
    callback: Callable[..., object] | None = None,
) -> Outgoing:
    of = cause if isinstance(cause, Message) else None
    return Outgoing(topic, message, compression, callback, of)


def _copy(message: Input) -> OutgoingMessage:
    key = _key(message, _own(message))
    return OutgoingMessage(message.data, key=key, properties=message.properties or None)


def _id_text(message: Input) -> str:
    if isinstance(message, Unreceived):
        return urlsafe_b64encode(message.message_id.serialize()).decode()
    return urlsafe_b64encode(message.message_id.to_bytes()).decode()


def _own(message: Input) -> "Single | Metadata | Unreceived":
    """What the message says of itself, read once."""
    if isinstance(message, Unreceived):
        return message
    return parse_single(message.head) if message.batch_index >= 0 else message.delivery.metadata


def _key(message: Input, own: "Single | Metadata | Unreceived") -> str | bytes | None:
    if own.key is None or isinstance(message, Unreceived):
        return own.key
    return message.key_as_sent
