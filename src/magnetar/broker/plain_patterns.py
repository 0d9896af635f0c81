"""Regular expressions of others, where matching them is safe here. Pure.

Python's regular expressions backtrack: a short hostile pattern can take hours, and would take the
broker with it. So only plain patterns are matched here: no groups, no alternatives, few repeats.
"""

import re
from typing import Final

from magnetar.errors import InvalidValue

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
