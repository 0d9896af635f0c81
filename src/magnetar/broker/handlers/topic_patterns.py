"""Matches topics with a client's pattern, where that is safe here. Pure.

Python's regular expressions backtrack: a short hostile pattern can take hours, and would take the
broker with it. So only plain patterns are matched here (no groups, no alternatives, few repeats);
for any other the client gets all topics, told that they are not filtered, and filters them itself.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from magnetar.errors import InvalidValue
from magnetar.model.names import TopicName

PATTERN_LENGTH_MAX: Final = 50
REPEATS_MAX: Final = 3
_COSTLY: Final = frozenset("()|{}")
_REPEATS: Final = frozenset("*+?")


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """A regular expression over ``tenant/namespace/topic``, without partition and domain."""

    expression: re.Pattern[str]

    @classmethod
    def of(cls, text: str) -> Self | None:
        """The pattern; None when only the client should match it. Raises InvalidValue."""
        if len(text) > PATTERN_LENGTH_MAX:
            return None
        _, scheme, rest = text.partition("://")
        body = rest if scheme else text
        try:
            expression = re.compile(body)
        except (re.error, OverflowError, RecursionError) as error:
            raise InvalidValue(f"Invalid topics pattern {text!r}: {error}") from None
        if _COSTLY.intersection(body) or sum(map(body.count, _REPEATS)) > REPEATS_MAX:
            return None
        return cls(expression)

    def matches(self, topic: TopicName) -> bool:
        base = topic.partitioned_name
        name = f"{base.tenant}/{base.namespace_local}/{base.local}"
        return self.expression.fullmatch(name) is not None
