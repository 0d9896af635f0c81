"""What real clients make of it is in ``unit/broker/admin/routes/test_diagnosis.py``."""

from dataclasses import replace

import pytest

from magnetar.broker.topics.diagnosis.diagnosis import diagnose
from magnetar.broker.topics.diagnosis.facts import Facts, Severity
from magnetar.broker.topics.diagnosis.subscription_view import ConsumerView, SubscriptionView
from magnetar.model.policies import NO_POLICIES
from magnetar.model.position import Position
from magnetar.model.subscriptions import SubscriptionType


def consumer(name, **more):
    return ConsumerView(
        name,
        "127.0.0.1:1",
        **{"permits": 1, "active": True, "writable": True, "blocked": False, **more},
    )


def facts(view=None, **more):
    seen = SubscriptionView(
        "s",
        SubscriptionType.SHARED,
        durable=True,
        backlog=10,
        blocked=None,
        consumers=[consumer("a")],
    )
    seen.mark = Position(3, 4)
    return Facts("persistent://t/n/x", replace(seen, **view or {}), NO_POLICIES, 60_000, **more)


@pytest.mark.parametrize(
    ("given", "cause", "severity", "words"),
    [
        (facts(rate_in=30, rate_out=10), "falling-behind", "warning", "grows by 20.0 a second"),
        (facts(rate_in=10, rate_out=12), "catching-up", "ok", "gone in about 5.0 s"),
        (facts({"durable": False}), "reader-behind", "info", "10 entries behind"),
        (facts({"mark": None, "backlog": 0, "dropped": 7}), "dropped", "warning", "7 messages"),
        (
            facts({"ranges_count": 3, "beyond": 9, "ranges_fit": False}),
            "acknowledgement-holes",
            "warning",
            "3 ranges; no consumer holds it now. The mark-delete position stays at 3:4",
        ),
        (
            facts(
                {
                    "ranges_count": 1,
                    "beyond": 1,
                    "first_left": Position(3, 5),
                    "consumers": [consumer("a", oldest_held=Position(3, 5))],
                }
            ),
            "acknowledgement-holes",
            "info",
            "3:5, is acknowledged, in 1 range; consumer a holds it",
        ),
        (
            facts({"consumers": [consumer("a", blocked=True, held_messages=5), consumer("b")]}),
            "blocked-on-unacked-consumer",
            "warning",
            "a gets nothing",
        ),
        (
            facts({"waiting": 30, "hot_slot": 7, "hot_slot_waiting": 29, "hot_slot_owner": "b"}),
            "hot-key",
            "warning",
            "29 of the 30 entries that wait are of hash slot 7",
        ),
    ],
)
def test_each_cause_is_said_in_words(given, cause, severity, words):
    [finding] = [each for each in diagnose(given) if each.cause == cause]
    assert finding.severity is Severity(severity)
    assert words in finding.text


@pytest.mark.parametrize(
    ("view", "cause"), [({}, "moving"), ({"backlog": 0}, "caught-up"), ({"mark": None}, "live")]
)
def test_where_nothing_is_wrong_that_is_said(view, cause):
    [finding] = diagnose(facts(view))
    assert (finding.cause, finding.severity) == (cause, Severity.OK)


@pytest.mark.parametrize(
    ("held", "held_s", "other", "hoards"),
    [
        (3, 60, {}, True),
        (1, 60, {}, False),  # It works on it.
        (3, 1, {}, False),  # It has just got them.
        (3, 60, {"held_messages": 2}, False),  # The other has something to do, too.
        (3, 60, {"permits": 0}, False),  # The other asks for nothing.
    ],
)
def test_prefetching_is_named_where_another_could_do_it(held, held_s, other, hoards):
    consumers = [consumer("a", held_messages=held, oldest_held_s=held_s), consumer("b", **other)]
    found = diagnose(facts({"consumers": consumers}))
    assert ("prefetching" in {each.cause for each in found}) is hoards


def test_the_worst_comes_first():
    found = diagnose(facts({"consumers": []}, terminated=True, rate_in=1))
    assert [each.severity for each in found] == [Severity.ERROR, Severity.INFO]


def test_a_higher_limit_that_is_advised_is_above_what_is_held():
    stuck = facts({"consumers": [consumer("a", blocked=True, held_messages=50)]})
    [finding] = [each for each in diagnose(stuck) if "unacked" in each.cause]
    assert "-m 100 " in finding.remedy
