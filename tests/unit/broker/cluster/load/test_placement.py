"""Who may have a bundle, and who of them gets it."""

import re

from hypothesis import given
from hypothesis import strategies as st

from magnetar.broker.cluster.load.placement import (
    Candidate,
    IsolationPolicy,
    PlacementRules,
    isolated,
    place,
)


def pattern(text):
    return re.compile(text).fullmatch


def candidate(name, usage=0.1, **others):
    return Candidate(name, usage, **others)


def names(candidates):
    return [each.name for each in candidates]


def placed(candidates, *, policies=(), related=None, rules=None, namespace="t/n"):
    found = place(candidates, namespace, policies, related or {}, rules or PlacementRules())
    return found and found.name


POLICY = IsolationPolicy(
    [pattern("t/.*")], [pattern("p.*")], [pattern("s.*")], min_limit=2, usage_threshold=0.8
)


def test_fewest_messages_over_time_by_default():
    assert placed([candidate("a", 0.1, messages=9), candidate("b", 0.5, messages=8)]) == "b"


def test_least_usage_where_that_is_said():
    rules = PlacementRules("LeastResourceUsageWithWeight")
    candidates = [candidate("a", 0.1, messages=9), candidate("b", 0.5, messages=8)]
    assert placed(candidates, rules=rules) == "a"


def test_an_overloaded_broker_is_the_last():
    assert placed([candidate("a", 0.9), candidate("b", 0.5, messages=8)]) == "b"
    assert placed([candidate("a", 0.9)]) == "a"


def test_nobody_is_there():
    assert placed([]) is None


def test_primary_brokers_serve_what_a_policy_names():
    there = [candidate(name) for name in ("p1", "p2", "s1", "x")]
    assert names(isolated(there, "t/n", [POLICY])) == ["p1", "p2"]


def test_secondary_brokers_help_where_there_are_too_few():
    there = [candidate(name) for name in ("p1", "s1", "x")]
    assert names(isolated(there, "t/n", [POLICY])) == ["p1", "s1"]


def test_secondary_brokers_help_where_the_primary_have_too_much():
    there = [candidate("p1"), candidate("p2", 0.9), candidate("s1"), candidate("x")]
    assert names(isolated(there, "t/n", [POLICY])) == ["p1", "p2", "s1"]


def test_other_namespaces_keep_away_from_primary_brokers():
    there = [candidate(name) for name in ("p1", "s1", "x")]
    assert names(isolated(there, "other/n", [POLICY])) == ["s1", "x"]


def test_rather_nowhere_than_where_a_policy_forbids_it():
    assert placed([candidate("x")], policies=[POLICY]) is None


def test_namespaces_of_a_group_are_in_different_domains():
    there = [
        candidate("a", domain="east"),
        candidate("b", domain="east", messages=1),
        candidate("c", domain="west", messages=99),
    ]
    assert placed(there, related={"a": 1}) == "c"
    assert placed(there, related={"a": 1, "c": 1}) == "b"


NAMES = st.sampled_from([f"{kind}{number}" for kind in "psx" for number in range(4)])
CANDIDATES = st.lists(
    st.builds(
        Candidate,
        NAMES,
        st.floats(0, 2),
        st.floats(0, 1e6),
        st.integers(0, 9),
        st.sampled_from(["", "east", "west"]),
    ),
    unique_by=lambda each: each.name,
)


@given(CANDIDATES, st.dictionaries(NAMES, st.integers(0, 3)), st.sampled_from(["t/n", "u/n"]))
def test_what_is_chosen_may_have_it_and_the_order_does_not_matter(there, related, namespace):
    chosen = placed(there, policies=[POLICY], related=related, namespace=namespace)

    allowed = isolated(there, namespace, [POLICY])
    assert (chosen is None) == (not allowed)
    assert chosen is None or chosen in names(allowed)
    assert (
        chosen is None
        or (chosen[0] == "x" or (namespace == "t/n") == (chosen[0] in "ps"))
        or (chosen[0] == "s")
    )
    assert chosen == placed(there[::-1], policies=[POLICY], related=related, namespace=namespace)
