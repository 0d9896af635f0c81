import re
from collections import Counter

import pytest

from magnetar.tools.admin import messages, steps, table
from magnetar.tools.admin.table import groups, verbs_of

VERBS = [(group, verb) for group in groups() for verb in verbs_of(group)]


def verb_of(group, name):
    return next(verb for verb in verbs_of(group) if verb.name == name)


def test_every_part_of_a_path_is_an_option_of_its_verb():
    for group, verb in VERBS:
        names = {param.name for param in verb.params}
        filled = {param.to for param in verb.params} | {"{domain}"}
        filled |= {"{time}"} if verb.run == "reset_cursor" else set()
        others = [path for words, path in verb.paths if set(words.split()) <= names]
        for path in (verb.path, *others):
            assert set(re.findall(r"\{\w+\}", path)) <= filled, (group, verb.name, path)


def test_what_a_verb_names_is_there():
    for group, verb in VERBS:
        names = {param.name for param in verb.params}
        assert set(verb.one_of) <= names, (group, verb.name)
        assert not verb.run or hasattr(steps, verb.run) or hasattr(messages, verb.run)


def test_no_two_options_of_a_verb_have_a_name_in_common():
    for group, verb in VERBS:
        names = Counter(name for param in verb.params for name in param.names)
        assert max(names.values(), default=1) == 1, (group, verb.name, names)


def test_no_two_verbs_of_a_group_have_a_name_in_common():
    for group in groups():
        names = Counter(name for verb in verbs_of(group) for name in (verb.name, *verb.also))
        assert max(names.values(), default=1) == 1, (group, names)


def test_a_policy_of_one_line_has_three_verbs():
    get, change, remove = (
        verb_of("topicPolicies", f"{action}-dispatch-rate") for action in ("get", "set", "remove")
    )
    assert (get.method, change.method, remove.method) == ("GET", "POST", "DELETE")
    assert get.path == change.path == remove.path == "{topic}/dispatchRate"
    assert [param.name for param in get.params] == ["topic", "applied", "global"]
    assert [param.name for param in remove.params] == ["topic", "global"]
    assert change.about == "Set how fast messages are dispatched."


def test_topics_know_policies_by_older_names():
    older = verb_of("topics", "get-max-producers")
    assert older.hidden
    assert older.also == ("get-maxProducers",)
    assert "--global" not in {name for param in older.params for name in param.names}
    assert not [verb for verb in verbs_of("topics") if verb.name == "get-entry-filters-per-topic"]


@pytest.mark.parametrize(
    ("group", "verb", "name", "default", "value"),
    [
        ("topics", "stats", "get_subscription_backlog_size", True, False),
        ("topics", "update-subscription-properties", "clear", None, {}),
        ("namespaces", "set-delayed-delivery", "time", 1000, None),
        ("ns-isolation-policy", "set", "secondary", [], None),
        ("bookies", "set-bookie-rack", "group", "default", None),
    ],
)
def test_defaults_are_values_of_their_kind(group, verb, name, default, value):
    found = next(param for param in verb_of(group, verb).params if param.name == name)
    assert (found.default, found.value) == (default, value)


def test_a_group_can_say_why_it_is_not_there():
    assert "connectors of Pulsar IO are Java" in groups()["sinks"].refused
    assert groups()["topics"].also == ("persistent", "non-persistent")
    assert table.verbs_of("sinks") == ()
