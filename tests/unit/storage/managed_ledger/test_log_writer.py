import asyncio

import pytest
from support.loop import until_idle
from unit.storage.managed_ledger.logs import NAME, append, entries

from magnetar.errors import Fenced, WriteFailed
from magnetar.model.counts import LATENCIES_MS
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.ledger.store import LedgerOptions
from magnetar.storage.managed_ledger.entries import Entries
from magnetar.storage.managed_ledger.log_writer import TRANSITIONS, WriterState

# tests/unit/storage/managed_ledger/test_managed_ledger.py has what a log does with it.


class Answers:
    """Hears what an append is answered, and how often."""

    def __init__(self):
        self.heard = []

    def __call__(self, ledger_id, first, error):
        self.heard.append((ledger_id, first, type(error)))


def start_append(ledger, data):
    answers = Answers()
    ledger.append(Entries(data, [0] * len(data), [1] * len(data), sum(map(len, data))), answers)
    assert not answers.heard, "never before the call returns"
    return answers


def test_every_state_leads_to_the_end():
    assert set(TRANSITIONS) == set(WriterState)
    for state in WriterState:
        reached, before = {state}, set()
        while reached != before:
            before = reached
            reached = reached.union(*(TRANSITIONS[each] for each in before))
        assert WriterState.CLOSED in reached


@pytest.mark.parametrize("rolls_over", [False, True], ids=["same ledger", "new ledger"])
@pytest.mark.parametrize("gate", ["appends", "creates"])
async def test_an_append_is_answered_once(logs, ledger, rolls_over, gate):
    await append(ledger, entries(1))
    if rolls_over:
        logs.clock.move(logs.settings.ledger_age_max_s)
    getattr(logs.ledgers, gate).close()
    answers = start_append(ledger, entries(2))
    await until_idle()
    getattr(logs.ledgers, gate).open()
    await until_idle()
    assert answers.heard == [(1, 0, type(None)) if rolls_over else (0, 1, type(None))]


async def test_a_ledger_has_the_same_size_before_and_after_it_ends(logs, ledger):
    logs.ledgers.beside = 6
    await append(ledger, entries(2))
    await append(ledger, entries(1))
    assert ledger.size_bytes == ledger.info().open_size_bytes == 3 + 3 * 6
    await logs.roll(ledger)
    assert (ledger.size_bytes, ledger.info().open_size_bytes) == (3 + 3 * 6, 0)


@pytest.mark.parametrize("gate", ["appends", "creates", "closes"])
async def test_an_append_that_fails_is_answered_once(logs, ledger, gate):
    await append(ledger, entries(1))
    if gate != "appends":
        logs.clock.move(logs.settings.ledger_age_max_s)
    getattr(logs.ledgers, gate).failures = [WriteFailed("disk full")]
    answers = start_append(ledger, entries(2))
    await until_idle()
    assert answers.heard == [(-1, -1, Fenced)]
    assert ledger.fenced


async def test_an_append_that_is_cut_off_is_answered(logs, ledger):
    """Its task is cancelled while a new ledger is created: whoever waits hears of it."""
    await append(ledger, entries(1))
    logs.clock.move(logs.settings.ledger_age_max_s)
    logs.ledgers.creates.close()
    answers = start_append(ledger, entries(2))
    await until_idle()
    await logs.tasks.close()
    assert answers.heard == [(-1, -1, Fenced)]


async def test_a_defect_of_the_store_is_answered(logs, ledger, monkeypatch):
    await append(ledger, entries(1))
    logs.clock.move(logs.settings.ledger_age_max_s)

    async def create():
        raise RuntimeError("not one of ours")

    monkeypatch.setattr(logs.ledgers, "create", create)
    answers = start_append(ledger, entries(2))
    await until_idle()
    assert answers.heard == [(-1, -1, Fenced)]
    assert ledger.fenced, "nobody knows what of it is in the log"


async def test_an_append_to_a_closed_log_is_answered(ledger):
    await ledger.close()
    answers = start_append(ledger, entries(2))
    await until_idle()
    assert answers.heard == [(-1, -1, Fenced)]


async def test_closing_waits_for_a_ledger_that_is_being_created(logs, ledger):
    await ledger.open_cursor("s", EARLIEST)
    await append(ledger, entries(3))
    logs.clock.move(logs.settings.ledger_age_max_s)
    logs.ledgers.creates.close()
    answers = start_append(ledger, entries(2))
    await until_idle()
    closing = asyncio.ensure_future(ledger.close())
    await until_idle()
    assert not closing.done()
    logs.ledgers.creates.open()
    await closing
    assert len(answers.heard) == 1
    assert ledger.layout.open_id is None
    assert ledger.info().state == "closed"


async def test_a_ledger_that_is_being_ended_takes_no_entries(logs, ledger):
    await append(ledger, entries(1))
    logs.ledgers.closes.close()
    rolling = asyncio.ensure_future(logs.roll(ledger))
    await until_idle()
    answers = start_append(ledger, entries(2))
    await until_idle()
    assert not answers.heard
    logs.ledgers.closes.open()
    await rolling
    await until_idle()
    assert answers.heard == [(1, 0, type(None))]


async def test_ledgers_count_by_how_long_it_took_to_begin_them(logs, ledger):
    await append(ledger, entries(1))
    logs.clock.move(logs.settings.ledger_age_max_s)
    logs.ledgers.creates.close()
    answers = start_append(ledger, entries(2))
    await until_idle()
    logs.clock.move(0.15)
    logs.ledgers.creates.open()
    await until_idle()
    assert answers.heard == [(1, 0, type(None))]
    counted = {LATENCIES_MS[at]: count for at, count in enumerate(logs.counts.switches) if count}
    assert counted == {0.1: 1, 200: 1}, "the first one took no time"


async def test_a_ledger_is_created_with_the_options_that_hold_and_says_whose_it_is(logs, ledger):
    ledger.replicate(LedgerOptions(3, 3, 2))
    await append(ledger, entries(1))
    await logs.roll(ledger)
    await append(ledger, entries(1))
    assert [(each.ensemble_size, each.ack_quorum) for each in logs.ledgers.options] == [
        (0, 0),  # It was there before the change.
        (3, 2),
    ]
    assert logs.ledgers.options[-1].metadata == {
        "application": b"pulsar",
        "component": b"managed-ledger",
        "pulsar/managed-ledger": NAME.encode(),
    }


async def test_an_append_waits_for_the_ledger_that_was_begun_for_it(logs):
    ledger = await logs.open()
    await append(ledger, entries(1))
    await ledger.close()
    ledger = await logs.open()
    created = len(ledger.layout.sealed)
    logs.ledgers.creates.close()
    ledger.begin_soon()
    answers = start_append(ledger, entries(1))
    ledger.begin_soon()
    logs.ledgers.creates.open()
    await until_idle()
    assert answers.heard == [(1, 0, type(None))]
    assert len(ledger.layout.sealed) == created, "one ledger, not one more for the append"
    ledger.begin_soon()
    await until_idle()
    assert ledger.takes_more, "the ledger that takes entries goes on"


async def test_a_ledger_that_cannot_be_begun_early_is_begun_by_the_append(logs):
    ledger = await logs.open()
    await append(ledger, entries(1))
    await ledger.close()
    ledger = await logs.open()
    logs.ledgers.creates.failures = [WriteFailed("disk full")]
    ledger.begin_soon()
    await until_idle()
    answers = start_append(ledger, entries(1))
    await until_idle()
    assert [error for *_, error in answers.heard] == [type(None)]


async def test_a_log_that_is_closed_begins_nothing(ledger):
    await append(ledger, entries(1))
    await ledger.close()
    ledger.begin_soon()
    await until_idle()
    assert not ledger.takes_more


async def test_a_ledger_that_cannot_be_ended_fences_its_log(logs, ledger):
    """It takes nothing any more, and is still the open one in the list."""
    await append(ledger, entries(1))
    logs.clock.move(logs.settings.ledger_age_max_s)
    logs.ledgers.closes.failures = [WriteFailed("disk full")]
    with pytest.raises(WriteFailed):
        await ledger.roll_over_if_due()
    assert ledger.fenced
    with pytest.raises(Fenced, match="could not be ended"):
        await append(ledger, entries(1))
    again = await logs.open()
    assert again.last_position == Position(0, 0), "nothing is lost"
