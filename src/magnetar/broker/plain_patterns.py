"""Regular expressions of clients, where matching them is safe here. Pure.

Python's regular expressions backtrack: a short hostile pattern can take hours, and would take the
broker with it. So only plain patterns are matched here: no groups, no alternatives, few repeats.
For another one a client gets all topics, told that they are not filtered, and filters them itself.
"""

import re
from typing import Final, Self

from magnetar.errors import InvalidValue
from magnetar.late_dataclass import dataclass
from magnetar.model.names import TopicName

PATTERN_LENGTH_MAX: Final = 50
REPEATS_MAX: Final = 3
_COSTLY: Final = frozenset("()|{}")
_REPEATS: Final = frozenset("*+?")


def plain_pattern(text: str, what: str) -> re.Pattern[str] | None:
    """A pattern; None where it is not plain. Raises InvalidValue, naming ``what``, for none."""
    if len(text) > PATTERN_LENGTH_MAX:
        return None
    try:
        pattern = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidValue(f"Invalid {what} {text!r}: {error}") from None
    if _COSTLY.intersection(text) or sum(map(text.count, _REPEATS)) > REPEATS_MAX:
        return None
    return pattern


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
