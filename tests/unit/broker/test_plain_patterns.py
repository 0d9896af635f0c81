import pytest

from magnetar.broker.plain_patterns import PATTERN_LENGTH_MAX, REPEATS_MAX, plain_pattern
from magnetar.errors import InvalidValue


@pytest.mark.parametrize("text", ["a", "public/default/a-.*", "[a-c]+"])
def test_a_plain_pattern_is_matched(text):
    pattern = plain_pattern(text, "pattern")
    assert pattern is not None
    assert pattern.pattern == text


@pytest.mark.parametrize(
    "text", ["(a)", "a|b", "a{3}", "x*" * (REPEATS_MAX + 1), "x" * (PATTERN_LENGTH_MAX + 1)]
)
def test_a_pattern_that_may_take_long_is_not(text):
    assert plain_pattern(text, "pattern") is None


def test_what_is_no_pattern_is_refused():
    with pytest.raises(InvalidValue, match="Invalid pattern"):
        plain_pattern("[a", "pattern")
