import pytest

from magnetar.auth.access import Access
from magnetar.auth.authorization import AuthorizationRules, Grants, Principal
from magnetar.model.names import TopicName
from magnetar.model.policy_values import AuthPolicies, SubscriptionAuthMode

TOPIC = TopicName.parse("persistent://acme/shop/orders")
AUTH = AuthPolicies(
    namespace={"writer": ["produce"], "reader": ["consume"], "coder": ["functions"]},
    topics={
        str(TOPIC): {"one-writer": ["produce"], "one-reader": ["consume"]},
        "persistent://acme/shop/bills": {"biller": ["produce", "consume"]},
    },
    subscriptions={"audit": ["reader"], "nobody's": []},
)
RULES = AuthorizationRules(frozenset({"root"}))
EVERYTHING = set(Access)
ANYONE = {Access.PUBLIC, Access.AUTHENTICATED}


def grants(topic=TOPIC, **more):
    return Grants(("boss",), AUTH, topic=topic, **more)


@pytest.mark.parametrize(
    ("role", "has"),
    [
        ("root", EVERYTHING),
        ("boss", EVERYTHING - {Access.SUPERUSER}),
        ("writer", {Access.NAMESPACE_TOPICS, Access.LOOKUP, Access.PRODUCE}),
        (
            "reader",
            {Access.NAMESPACE_TOPICS, Access.NAMESPACE_CONSUME, Access.LOOKUP, Access.CONSUME},
        ),
        ("coder", {Access.FUNCTIONS}),
        ("one-writer", {Access.LOOKUP, Access.PRODUCE}),
        ("one-reader", {Access.LOOKUP, Access.CONSUME}),
        ("biller", set()),
        ("nobody", set()),
    ],
)
def test_a_role_has_what_it_was_granted_and_nothing_else(role, has):
    allowed = {each for each in Access if RULES.allow(Principal(role), each, grants())}
    assert allowed == has | ANYONE


def test_nobody_has_anything():
    for wildcards in (False, True):
        rules = AuthorizationRules(frozenset({""}), wildcards=wildcards)
        everybody = Grants(("",), AuthPolicies(namespace={"": ["produce"], "*": ["produce"]}))
        assert not any(rules.allow(Principal(""), each, everybody) for each in Access)


@pytest.mark.parametrize(
    ("name", "role", "allowed"),
    [
        ("bills-partition-3", "biller", True),
        ("bills-partition-3", "one-writer", False),
        ("bills-partition-x", "biller", False),
        ("bills", "biller", True),
    ],
)
def test_what_is_granted_on_a_topic_is_granted_on_its_partitions(name, role, allowed):
    place = grants(TopicName.parse(f"persistent://acme/shop/{name}"))
    assert RULES.allow(Principal(role), Access.PRODUCE, place) is allowed


def test_a_topic_of_another_domain_is_another_topic():
    place = grants(TopicName.parse("non-persistent://acme/shop/orders"))
    assert not RULES.allow(Principal("one-writer"), Access.PRODUCE, place)


@pytest.mark.parametrize(
    ("subscription", "role", "allowed"),
    [
        ("audit", "reader", True),
        ("audit", "one-reader", False),
        ("audit", "boss", True),
        ("nobody's", "one-reader", True),
        ("other", "one-reader", True),
        ("", "one-reader", True),
        ("audit", "writer", False),
    ],
)
def test_a_subscription_with_a_list_of_roles_is_for_them_alone(subscription, role, allowed):
    place = grants(subscription=subscription)
    assert RULES.allow(Principal(role), Access.CONSUME, place) is allowed


@pytest.mark.parametrize(
    ("subscription", "role", "missed"),
    [
        ("reader-1", "reader", ""),
        ("mine", "reader", "reader"),
        ("x", "boss", ""),
        ("", "reader", ""),
    ],
)
def test_a_name_of_a_subscription_begins_with_the_role_where_it_must(subscription, role, missed):
    place = grants(subscription=subscription, mode=SubscriptionAuthMode.PREFIX)
    assert RULES.prefix_missed(Principal(role), place) == missed
    assert RULES.allow(Principal(role), Access.CONSUME, place) is not bool(missed)


@pytest.mark.parametrize(
    ("pattern", "role", "matches"),
    [
        ("team.*", "team.a", True),
        ("team.*", "teams", False),
        ("*.reader", "a.reader", True),
        ("*.reader", "reader", False),
        ("*", "anybody", True),
        ("a*c", "abc", False),
    ],
)
def test_a_granted_role_may_end_or_begin_with_a_star_where_the_setting_says_so(
    pattern, role, matches
):
    partition = TopicName.parse("persistent://acme/shop/p-partition-0")
    for auth in (
        AuthPolicies(namespace={pattern: ["produce"]}),
        AuthPolicies(topics={"persistent://acme/shop/p": {pattern: ["produce"]}}),
    ):
        place = Grants(auth=auth, topic=partition)
        rules = AuthorizationRules(wildcards=True)
        assert rules.allow(Principal(role), Access.PRODUCE, place) is matches
        assert not rules.allow(Principal(role), Access.CONSUME, place)
        assert not RULES.allow(Principal(role), Access.PRODUCE, place)


@pytest.mark.parametrize(
    ("role", "proxy", "allowed"),
    [
        ("writer", "root", True),
        ("root", "writer", True),
        ("writer", "nobody", False),
        ("nobody", "root", False),
        ("writer", "", False),
    ],
)
def test_a_role_and_its_proxy_must_both_be_allowed(role, proxy, allowed):
    assert RULES.allow(Principal(role, proxy), Access.PRODUCE, grants()) is allowed


@pytest.mark.parametrize("value", ["produce", {"produce": True}, None, 3, [None], ["Produce"]])
def test_a_record_that_lists_no_actions_grants_nothing(value):
    place = Grants(auth=AuthPolicies(namespace={"writer": value}), topic=TOPIC)
    for wildcards in (False, True):
        rules = AuthorizationRules(wildcards=wildcards)
        assert not rules.allow(Principal("writer"), Access.PRODUCE, place)
