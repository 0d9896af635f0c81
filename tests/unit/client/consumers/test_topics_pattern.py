"""Which topics a pattern names, and what of it a broker is told."""

import re

import pytest

from magnetar.client.consumers.topics_pattern import BROKER_PATTERN_LENGTH_MAX, TopicsPattern
from magnetar.errors import InvalidValue
from magnetar.model.subscriptions import RegexSubscriptionMode as Mode


def pattern(text, mode=Mode.PERSISTENT_ONLY, flags=0):
    return TopicsPattern.of(re.compile(text, flags), mode)


@pytest.mark.parametrize(
    ("text", "topic", "expected"),
    [
        ("persistent://a/b/t-.*", "persistent://a/b/t-1", True),
        ("persistent://a/b/t-.*", "persistent://a/b/xt-1", False),
        ("persistent://a/b/t-.", "persistent://a/b/t-12", False),
        ("persistent://a/b/t-.*", "persistent://a/c/t-1", False),
        ("persistent://a/b/t-.*", "non-persistent://a/b/t-1", False),
        ("a/b/t-.*", "persistent://a/b/t-1", True),
        ("t-.*", "persistent://public/default/t-1", True),
        ("a/b/t", "persistent://a/b/t-partition-3", True),
        ("a/b/t-partition-3", "persistent://a/b/t-partition-3", False),
        ("a/b/.*", "persistent://a/b/__change_events", False),
        ("a/b/x|y", "persistent://a/b/y", False),  # The other half is just "y", as in Pulsar.
        ("persistent://a/b/x|a/b/y", "persistent://a/b/y", True),
        ("a/b/(x|y)", "persistent://a/b/y", True),
        ("a/b/.*", "no://topic", False),
    ],
)
def test_the_whole_name_matches_without_domain_and_partition(text, topic, expected):
    assert pattern(text).matches(topic) is expected


@pytest.mark.parametrize(
    ("mode", "kept", "volatile"),
    [
        (Mode.PERSISTENT_ONLY, True, False),
        (Mode.NON_PERSISTENT_ONLY, False, True),
        (Mode.ALL_TOPICS, True, True),
    ],
)
def test_the_mode_says_which_domains(mode, kept, volatile):
    made = pattern("persistent://a/b/.*", mode)
    assert made.matches("persistent://a/b/t") is kept
    assert made.matches("non-persistent://a/b/t") is volatile


def test_the_flags_of_the_pattern_hold():
    made = pattern("a/b/t-.*", flags=re.IGNORECASE)
    assert made.matches("persistent://a/b/T-1")
    assert made.for_broker == "a/b/.*"


@pytest.mark.parametrize(
    "text", ["persistent://a/.*/t", "persistent://.*/b/t", "(a|b)/c/t", "a/t", "x://a/b/t", ""]
)
def test_it_names_one_namespace(text):
    with pytest.raises(InvalidValue, match="one namespace"):
        pattern(text)


def test_what_contradicts_itself_is_refused():
    with pytest.raises(InvalidValue, match="regex_subscription_mode"):
        pattern("non-persistent://a/b/t")
    with pytest.raises(InvalidValue, match="behind its namespace"):
        pattern("(?i)t-.*")
    with pytest.raises(InvalidValue, match="one namespace"):
        TopicsPattern.of(re.compile(b"t"), Mode.PERSISTENT_ONLY)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a/b/t-.*", "a/b/t-.*"),
        ("a/b/t-[0-9]+", "a/b/t-.*"),
        ("a/b/ab*", "a/b/a.*"),
        ("a/b/ab?c", "a/b/a.*"),
        ("a/b/ab{0}", "a/b/a.*"),
        ("a/b/abc", "a/b/abc.*"),
        ("a/b/(x|y)", "a/b/.*"),
        ("persistent://a/b/x|a/b/y", "a/b/.*"),
        (r"a/b/x\.y", "a/b/x.*"),
        ("a/b/" + "x" * 99, "a/b/" + "x" * 44 + ".*"),
        ("a" * 30 + "/" + "b" * 30 + "/t", None),
    ],
)
def test_a_broker_gets_a_plain_pattern_that_leaves_out_nothing(text, expected):
    assert pattern(text).for_broker == expected
    assert expected is None or len(expected) <= BROKER_PATTERN_LENGTH_MAX
