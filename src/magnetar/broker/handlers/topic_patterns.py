"""Matches topics with a client's pattern, where that is safe here. Pure.

For a pattern that is not plain the client gets all topics, told that they are not filtered, and
filters them itself.
"""

import re
from dataclasses import dataclass
from typing import Self

from magnetar.broker.plain_patterns import plain_pattern
from magnetar.model.names import TopicName


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """A regular expression over ``tenant/namespace/topic``, without partition and domain."""

    expression: re.Pattern[str]

    @classmethod
    def of(cls, text: str) -> Self | None:
        """The pattern; None when only the client should match it. Raises InvalidValue."""
        _, scheme, rest = text.partition("://")
        expression = plain_pattern(rest if scheme else text, "topics pattern")
        return None if expression is None else cls(expression)

    def matches(self, topic: TopicName) -> bool:
        base = topic.partitioned_name
        name = f"{base.tenant}/{base.namespace_local}/{base.local}"
        return self.expression.fullmatch(name) is not None
