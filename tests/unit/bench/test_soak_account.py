"""The account at the end of a soak: what is lost, let go of or left behind is told apart."""

from dataclasses import replace

import pytest

from bench.soak.flows import SUBSCRIPTION, Flow
from bench.soak.semantics.account import row_of
from bench.soak.semantics.plan import OFFICIAL, OUR_FLOWS, OURS
from bench.soak.tally import Reading, Tally
from magnetar.model.subscriptions import SubscriptionType

FLOW = Flow("f", SubscriptionType.EXCLUSIVE, topics=1, rate=1, sizes=(100,))


def account(*, answered, delivered, acknowledged, excused=(), flow=FLOW, backlog=0, every=1):
    tally = Tally()
    stream = tally.stream("f-0.0", (100,), {SUBSCRIPTION: True}, lossy=flow.lossy)
    stream.sent = 10
    reading = tally.readings["f-0.0", SUBSCRIPTION] = Reading(stream, ordered=True, every=every)
    for number in answered:
        stream.on_answer(number)
    for number in delivered:
        tally.take(SUBSCRIPTION, stream.body(number), "t")
    for number in acknowledged:
        tally.on_acknowledgement(SUBSCRIPTION, stream, number)
    reading.excused |= set(excused)
    return row_of(flow, "", tally, backlog)


def test_what_was_answered_and_acknowledged_is_fine():
    row = account(answered=range(3), delivered=[0, 1, 0, 1, 2], acknowledged=[0, 0, 1, 2])
    assert (row.answered, row.delivered, row.acknowledged, row.repeated) == (3, 3, 3, 2)
    assert row.fine


def test_a_lost_message_is_not_and_one_that_may_be_gone_is():
    lost = account(answered=range(3), delivered=[0, 2], acknowledged=[0, 2])
    assert (lost.lost, lost.fine) == (1, False)
    gone = account(answered=range(3), delivered=[0, 2], acknowledged=[0, 2], excused=[1])
    assert (gone.lost, gone.excused, gone.fine) == (0, 1, True)


def test_where_loss_is_allowed_it_is_counted():
    flow = replace(FLOW, lossy=True)
    row = account(answered=range(3), delivered=[0], acknowledged=[0], flow=flow)
    assert (row.lost, row.excused, row.fine) == (0, 2, True)


def test_what_is_not_acknowledged_or_late_or_waits_is_told():
    assert not account(answered=[0, 1], delivered=[0, 1], acknowledged=[0]).fine
    late = account(answered=[0, 1], delivered=[1, 0], acknowledged=[0, 1])
    assert (late.disordered, late.fine) == (1, False)
    assert not account(answered=[0], delivered=[0], acknowledged=[0], backlog=1).fine


def test_only_some_messages_may_be_wanted():
    row = account(answered=range(7), delivered=[0, 6], acknowledged=[0, 6], every=3)
    assert (row.answered, row.lost) == (3, 1)


@pytest.mark.parametrize("flows", [[use.flow for use in OFFICIAL], OUR_FLOWS])
def test_flows_have_names_of_their_own(flows):
    assert len({flow.name for flow in flows}) == len(flows)


def test_each_flow_of_ours_says_what_it_uses():
    assert set(OURS) == {flow.name for flow in OUR_FLOWS}
