"""A function on given inputs, in memory: no broker, no Spark, no waiting. For tests of functions.

with FunctionTest.of(config) as function:
    function.send("21")
    assert function.outputs == [b"42"]
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.compat.enums import Result
from magnetar.compat.message import Unreceived
from magnetar.compat.message_id import MessageId
from magnetar.errors import InvalidValue
from magnetar.functions.config import FunctionConfig
from magnetar.functions.instance_metrics import InstanceMetrics
from magnetar.functions.log_lines import LogLines, logger_of
from magnetar.functions.processing import Outcome, Processor
from magnetar.functions.state import FunctionState
from magnetar.model.names import TopicName


@dataclass(slots=True)
class _TestClock:
    """Stands still but for ``advance``."""

    at_ms: int = 1_700_000_000_000

    def now(self) -> float:
        return self.at_ms / 1000

    def wall_ms(self) -> int:
        return self.at_ms

    async def sleep(self, seconds: float) -> None:
        self.at_ms += round(seconds * 1000)


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that the function has sent."""

    topic: str
    value: bytes
    key: str | bytes | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


class FunctionTest:
    """One instance. ``send`` gives it a message, ``advance`` lets time pass for windows."""

    def __init__(self, config: FunctionConfig) -> None:
        """Raises InvalidValue for what the code does not have."""
        self.config = config
        self.sent: list[Sent] = []
        self.failed: list[bytes] = []  # Inputs that would come again.
        self.logs: list[str] = []
        self._metrics = InstanceMetrics()
        self._state = FunctionState("0", commits=False)
        self._lines = LogLines(config, 0)
        self._clock = _TestClock()
        self._count = 0
        self._processor = Processor(
            config,
            instance_id=0,
            state=lambda: self._state,
            clock=self._clock,
            logger=logger_of(config, 0, self._lines),
            metrics=self._metrics,
        )

    @property
    def outputs(self) -> list[bytes]:
        """What it has sent to its output topic, or would have without one."""
        return [each.value for each in self.sent if each.topic == self.config.output]

    @property
    def state(self) -> dict[str, bytes]:
        return self._state.values()

    @property
    def counters(self) -> dict[str, int]:
        return self._state.counters()

    @property
    def metrics(self) -> dict[str, Any]:
        """As in the status of an instance."""
        return self._metrics.to_json()

    def send(
        self,
        value: bytes | str,
        *,
        topic: str | None = None,
        key: str | None = None,
        properties: Mapping[str, str] | None = None,
        event_time_ms: int | None = None,
    ) -> list[Sent]:
        """Process a message of the first input, or of ``topic``; what it made the function send.

        Raises InvalidValue for a topic that is none of the inputs.
        """
        if topic is None:
            topics = self.config.input_topics
            if not topics:
                raise InvalidValue("the input is a pattern: say of which topic the message is")
            topic = topics[0]
        message = Unreceived(
            data=value.encode() if isinstance(value, str) else bytes(value),
            message_id=MessageId(-1, 0, self._count),
            key=key,
            properties=dict(properties or {}),
            event_time_ms=event_time_ms,
            publish_time_ms=self._clock.wall_ms(),
            topic=str(TopicName.parse(topic)),
        )
        self._processor.values.input_of(message.topic)
        self._count += 1
        return self._took(self._processor.run([message]))

    def advance(self, milliseconds: int) -> list[Sent]:
        """Let time pass, and windows be due; what they made the function send."""
        self._clock.at_ms += milliseconds
        return self._took(self._processor.run([]))

    def close(self) -> None:
        """Forget the function's modules."""
        self._processor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _took(self, outcome: Outcome) -> list[Sent]:
        made = []
        for index, each in enumerate(outcome.sent):
            made.append(_sent(each.topic, each.message))
            if each.callback is not None:
                each.callback(Result.Ok, MessageId(-1, 1, len(self.sent) + index))
        self.sent += made
        self.failed += [message.data for message in outcome.failed]
        self.logs += self._lines.lines()
        return made


def _sent(topic: str, message: OutgoingMessage) -> Sent:
    return Sent(topic, bytes(message.value), message.key, dict(message.properties or {}))
