"""What real clients make of it is in ``unit/broker/admin/routes/test_diagnosis.py``."""

from dataclasses import replace

import pytest
from unit.broker.admin.routes.test_diagnosis import check_command
from unit.broker.topics.diagnosis.test_diagnosis import facts

from magnetar.broker.topics.diagnosis.diagnosis import diagnose
from magnetar.broker.topics.diagnosis.facts import ProducersHeldBack, Severity
from magnetar.broker.topics.diagnosis.publishing import RECENT_S
from magnetar.broker.topics.diagnosis.subscription_view import Slowest
from magnetar.model.policy_values import BacklogQuota, BacklogQuotaPolicy, PublishRate
from magnetar.model.schemas import SchemaRefusal

REFUSED = SchemaRefusal("consumer", "It has no field.", 50_000, 2)
QUOTA = BacklogQuota(-1, 600, BacklogQuotaPolicy.HOLD)
ONE_A_SECOND = replace(facts().policies, publish_rate=PublishRate(1, 2_000))


@pytest.mark.parametrize(
    ("given", "cause", "severity", "words"),
    [
        ({"unwritable": "No space left"}, "log-not-writable", "error", "No space left"),
        ({"fenced": True}, "topic-fenced", "error", "opened afresh"),
        ({"sync_ms": (150.0, 300.0)}, "slow-disk", "warning", "half of the syncs"),
        ({"sync_ms": (1.0, 1500.0)}, "slow-disk", "warning", "longer than 1500 ms"),
        ({"terminated": True}, "terminated", "info", "nothing more will be published"),
        ({"quota": QUOTA}, "backlog-quota", "warning", "10 minutes: producers are disconnected"),
        (
            {"quota": QUOTA, "slowest": Slowest("slow", 7, 1)},
            "backlog-quota",
            "warning",
            "subscription slow, 7 entries of about 1 byte, exceeds",
        ),
        (
            {
                "held_back": ProducersHeldBack("topic", 3, 1.0),
                "policies": ONE_A_SECOND,
                "rate_in": 2.0,
            },
            "publish-rate",
            "warning",
            "2000 bytes a second: they had to wait 3 times since the topic was loaded, last 1.0 s",
        ),
        (
            {"held_back": ProducersHeldBack("resource group x", 1, 1.0)},
            "publish-rate",
            "warning",
            "of the resource group x: they had to wait once",
        ),
        ({"refusal": REFUSED}, "schema-refused", "warning", "no field (refusals so far: 2)."),
        (
            {"producers": 1, "producers_waiting": 2},
            "producers-wait",
            "info",
            "2 producers wait for exclusive access to the topic, which 1 producer that came",
        ),
    ],
)
def test_what_holds_up_producers_is_said_in_words(given, cause, severity, words):
    [finding] = [each for each in diagnose(replace(facts(), **given)) if each.cause == cause]
    assert finding.severity is Severity(severity)
    assert words in finding.text
    assert finding.remedy
    check_command(finding.remedy)


@pytest.mark.parametrize(
    "given",
    [
        {"sync_ms": (20.0, 500.0)},
        {"held_back": ProducersHeldBack("topic", 3, RECENT_S + 1)},
        {"refusal": replace(REFUSED, at_ms=60_000 - round(RECENT_S * 1000) - 1)},
    ],
)
def test_what_is_over_or_no_trouble_is_not_said(given):
    assert [each.cause for each in diagnose(replace(facts(), **given))] == ["moving"]


def test_the_quota_names_whom_to_consume_with():
    given = facts(quota=QUOTA, slowest=Slowest("slow one", 7, 1))
    [finding] = [each for each in diagnose(given) if each.cause == "backlog-quota"]
    assert "skip -s 'slow one'" in finding.remedy
