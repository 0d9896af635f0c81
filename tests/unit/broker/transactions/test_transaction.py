from itertools import product

import pytest

from magnetar.broker.transactions.transaction import (
    TRANSITIONS,
    Transaction,
    TxnEvent,
    TxnStatus,
)
from magnetar.errors import InvalidTxnStatus
from magnetar.model.txn_id import TxnId


def transaction(status=TxnStatus.OPEN):
    return Transaction(TxnId(0, 7), 1000, 5000, status=status)


def reached(start):
    """The states that can follow, by any way."""
    found, ahead = set(), {start}
    while ahead:
        state = ahead.pop()
        after = {to for (come_from, _), to in TRANSITIONS.items() if come_from is state}
        ahead |= after - found
        found |= after
    return found


def test_every_state_is_reached_and_what_has_ended_stays_so():
    assert reached(TxnStatus.OPEN) == set(TxnStatus) - {TxnStatus.OPEN}
    for state in TxnStatus:
        assert state.ended == (not reached(state))


def test_what_is_being_committed_is_never_aborted_and_the_other_way_round():
    assert TxnStatus.ABORTED not in reached(TxnStatus.COMMITTING)
    assert TxnStatus.COMMITTED not in reached(TxnStatus.ABORTING)


@pytest.mark.parametrize(("state", "event"), list(product(TxnStatus, TxnEvent)))
def test_what_cannot_happen_is_refused_and_changes_nothing(state, event):
    one = transaction(state)
    if (state, event) in TRANSITIONS:
        one.on(event)
        assert one.status is TRANSITIONS[state, event]
    else:
        with pytest.raises(InvalidTxnStatus, match=rf"\(0,7\) is {state.value}"):
            one.on(event)
        assert one.status is state


def test_nothing_takes_part_once_the_end_has_begun():
    transaction().check_open()
    with pytest.raises(InvalidTxnStatus):
        transaction(TxnStatus.COMMITTING).check_open()
