"""Names: what parses, what prints, what is refused and how."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import InvalidName
from magnetar.model.names import NAME_LENGTH_MAX, NamespaceName, TopicName, check_entity, flaw


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("x", "persistent://public/default/x"),
        ("t/n/x", "persistent://t/n/x"),
        ("non-persistent://t/n/x", "non-persistent://t/n/x"),
        ("persistent://t/n/x y", "persistent://t/n/x y"),
    ],
)
def test_short_forms_mean_full_names(short, full):
    assert str(TopicName.parse(short)) == full


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bad://t/n/x", "Invalid topic domain: 'bad'"),
        ("persistent://public", "Invalid topic name: persistent://public"),
        ("persistent://public/default/ ", "Topic local name must not be blank."),
        ("persistent://public/de fault/x", "Invalid named entity: de fault"),
        ("a/b", "Invalid short topic name 'a/b'"),
        ("", "Invalid short topic name ''"),
    ],
)
def test_bad_names_are_refused_in_pulsars_words(name, text):
    with pytest.raises(InvalidName) as refused:
        TopicName.parse(name)
    assert text in str(refused.value)


@pytest.mark.parametrize("name", ["", "x", "a b/c%2F", "ä\u00a0🌍", "x" * NAME_LENGTH_MAX])
def test_a_name_may_have_most_characters(name):
    assert flaw(name) is None


@pytest.mark.parametrize(
    "name",
    [
        *("\0", "a\tb", "a\r\n", "\x7f", "a\x9f", "a\u202eb", "\u2066", "\u200f", "\u2028"),
        "x" * (NAME_LENGTH_MAX + 1),
    ],
)
def test_no_name_is_too_long_or_has_control_characters(name):
    words = flaw(name)
    assert words is not None
    for parse in (TopicName.parse, check_entity, NamespaceName.parse):
        with pytest.raises(InvalidName):
            parse(f"t/n/{name}" if parse == TopicName.parse else name)


def test_it_is_the_name_in_full_that_may_be_so_long():
    TopicName.parse("x" * (NAME_LENGTH_MAX - len("persistent://public/default/")))
    with pytest.raises(InvalidName, match="1025 characters"):
        TopicName.parse("x" * (NAME_LENGTH_MAX + 1 - len("persistent://public/default/")))


@pytest.mark.parametrize(
    ("local", "index"),
    [
        ("x", -1),
        ("x-partition-3", 3),
        ("x-partition-03", -1),
        ("x-partition-", -1),
        ("x-partition-1-partition-2", 2),
        ("x-partition-²", -1),
    ],
)
def test_a_partition_is_known_by_its_suffix(local, index):
    assert TopicName.parse(local).partition_index == index


@given(st.integers(0, 10_000))
def test_a_partition_knows_its_topic(index):
    topic = TopicName.parse("t/n/x")
    partition = topic.partition(index)
    assert partition.partition_index == index
    assert partition.partitioned_name == topic
    assert TopicName.parse(str(partition)) == partition
    assert topic.partitioned_name == topic


def test_namespaces_have_two_parts():
    assert str(NamespaceName.parse("t/n")) == "t/n"
    assert TopicName.parse("t/n/x").namespace == NamespaceName("t", "n")
    for bad in ("t", "t/n/x", "t/", "a b/n"):
        with pytest.raises(InvalidName):
            NamespaceName.parse(bad)


def test_entities_are_letters_digits_and_a_few_signs():
    assert check_entity("a-Z_0.9=:") == "a-Z_0.9=:"
    for bad in ("", "a b", "a$", "a/b"):
        with pytest.raises(InvalidName):
            check_entity(bad)
