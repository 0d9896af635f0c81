import pytest
from unit.broker.admin.routes.test_diagnosis import check_command
from unit.broker.topics.diagnosis.test_diagnosis import consumer, facts

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.broker.topics.diagnosis.blocked import blocked_findings

UNSAID = {Why.NO_CONSUMER, Why.NOTHING_TO_READ, Why.READING}
"""The first is said where there are none, and the others are nothing to mend."""


@pytest.mark.parametrize("why", Why)
def test_whatever_keeps_it_is_said_with_a_remedy(why):
    blocked = Blocked(why, "a", slot=5, held_s=7, until_ms=120_000, limit="topic")
    view = {"blocked": blocked, "consumers": [consumer("a", held_messages=2), consumer("b")]}
    found = list(blocked_findings(facts(view)))
    assert bool(found) is (why not in UNSAID)
    for finding in found:
        assert finding.text.endswith(".")
        assert finding.remedy
        check_command(finding.remedy)


@pytest.mark.parametrize("why", Why)
def test_nothing_is_said_of_who_has_no_backlog(why):
    assert not list(blocked_findings(facts({"blocked": Blocked(why, "a"), "backlog": 0})))


def test_who_holds_a_slot_and_since_when():
    blocked = Blocked(Why.SLOT_DRAINS, "a", slot=5, held_s=7)
    [finding] = blocked_findings(facts({"blocked": blocked}))
    assert "Hash slot 5" in finding.text
    assert "7.0 s" in finding.text
    assert finding.since_ms == 53_000
