"""Which topics of a namespace a pattern names. Pure."""

import re
from dataclasses import dataclass
from typing import Final, Self

from magnetar.errors import InvalidName, InvalidValue
from magnetar.model.names import NON_PERSISTENT, NamespaceName, TopicName
from magnetar.model.subscriptions import RegexSubscriptionMode
from magnetar.model.system_topics import is_system_topic

BROKER_PATTERN_LENGTH_MAX: Final = 50  # Pulsar's brokers match no longer ones.
_LITERAL: Final = re.compile(r"[-\w]*", re.ASCII)  # Every engine reads these as themselves.
_REPEATS: Final = frozenset("*+?{")


@dataclass(frozen=True, slots=True)
class TopicsPattern:
    """A regular expression over the full names of one namespace's topics, without the domain.

    It must match the whole name, and of a partitioned topic the name without the partition.
    """

    text: str  # As it was given.
    namespace: NamespaceName
    expression: re.Pattern[str]
    mode: RegexSubscriptionMode

    @classmethod
    def of(cls, given: re.Pattern[str], mode: RegexSubscriptionMode) -> Self:
        """From ``[persistent://][tenant/namespace/]regex``. Raises InvalidValue."""
        try:
            name = TopicName.parse(given.pattern)
        except (InvalidName, TypeError, AttributeError) as error:
            raise InvalidValue(
                f"pattern {given.pattern!r} does not name one namespace, as "
                f"persistent://tenant/namespace/regex does: {error}"
            ) from None
        if name.domain == NON_PERSISTENT and mode is RegexSubscriptionMode.PERSISTENT_ONLY:
            raise InvalidValue(
                f"pattern {given.pattern!r} asks for non-persistent topics: set "
                "regex_subscription_mode to NON_PERSISTENT_ONLY or ALL_TOPICS"
            )
        try:
            expression = re.compile(_without_domain(name), given.flags)
        except re.error as error:
            raise InvalidValue(f"pattern {given.pattern!r} behind its namespace: {error}") from None
        return cls(given.pattern, name.namespace, expression, mode)

    def matches(self, name: str) -> bool:
        """Whether it names this topic, or the topic that this is a partition of."""
        try:
            topic = TopicName.parse(name)
        except InvalidName:  # It can be no topic's.
            return False
        return (
            self._has_domain_of(topic)
            and topic.namespace == self.namespace
            and not is_system_topic(topic)
            and self.expression.fullmatch(_without_domain(topic.partitioned_name)) is not None
        )

    @property
    def for_broker(self) -> str | None:
        """A simpler pattern that leaves out no topic; None where brokers take no such one.

        Brokers have other engines for regular expressions, of which some know less than Python's.
        """
        prefix = f"{self.namespace}/"
        if len(prefix) + len(".*") > BROKER_PATTERN_LENGTH_MAX:
            return None
        return f"{prefix}{self._literal_start()}"[: BROKER_PATTERN_LENGTH_MAX - 2] + ".*"

    def _literal_start(self) -> str:
        """What every name begins with after the namespace, as far as it is easily seen."""
        regex = self.expression.pattern.removeprefix(f"{self.namespace}/")
        if "|" in regex or self.expression.flags & (re.IGNORECASE | re.VERBOSE):
            return ""
        start = _LITERAL.match(regex)
        assert start is not None  # It matches nothing at least.
        literal = start[0]
        return literal[:-1] if regex[len(literal) : len(literal) + 1] in _REPEATS else literal

    def _has_domain_of(self, topic: TopicName) -> bool:
        return self.mode is RegexSubscriptionMode.ALL_TOPICS or (
            topic.persistent == (self.mode is RegexSubscriptionMode.PERSISTENT_ONLY)
        )


def _without_domain(topic: TopicName) -> str:
    return f"{topic.namespace}/{topic.local}"
