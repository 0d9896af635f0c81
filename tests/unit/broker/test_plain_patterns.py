import pytest

from magnetar.broker.plain_patterns import (
    PATTERN_LENGTH_MAX,
    REPEATS_MAX,
    TopicPattern,
    plain_pattern,
)
from magnetar.errors import InvalidValue
from magnetar.model.names import TopicName

TOPICS = [
    TopicName.parse(f"persistent://public/g/{local}")
    for local in ("a", "b", "a.b", "part-partition-0", "part-partition-1")
]


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


def matched(pattern: str) -> list[str]:
    compiled = TopicPattern.of(pattern)
    assert compiled is not None
    return [topic.local for topic in TOPICS if compiled.matches(topic)]


@pytest.mark.parametrize(
    ("pattern", "locals_"),
    [
        ("persistent://public/g/.*", ["a", "b", "a.b", "part-partition-0", "part-partition-1"]),
        ("public/g/p.*", ["part-partition-0", "part-partition-1"]),
        ("persistent://public/g/part", ["part-partition-0", "part-partition-1"]),
        ("public/g/part-partition-0", []),
        ("a", []),
        ("non-persistent://public/g/a", ["a"]),
        ("^persistent://public/g/a$", ["a"]),
        ("public/g/[ab]", ["a", "b"]),
        (r"public/g/a\.b", ["a.b"]),
    ],
)
def test_a_plain_pattern_means_whole_names_without_domain_and_partition(pattern, locals_):
    assert matched(pattern) == locals_


@pytest.mark.parametrize(
    "pattern",
    ["x" * 51, "public/g/(a|b)", "public/g/(a+)+", ".*.*.*.*x", "public/g/a{1,9}"],
)
def test_a_pattern_that_could_take_for_ever_is_left_to_the_client(pattern):
    assert TopicPattern.of(pattern) is None


@pytest.mark.parametrize("pattern", ["public/g/(", "public/g/[", "*", "a{99999999999}"])
def test_what_is_no_pattern_of_topics_is_refused(pattern):
    with pytest.raises(InvalidValue, match="Invalid topics pattern"):
        TopicPattern.of(pattern)
