import pytest
from unit.storage.managed_ledger.logs import NAME

from magnetar.errors import LedgerFenced, LedgerNotFound
from magnetar.storage.ledger.store import LedgerId
from magnetar.storage.managed_ledger import position_ledger
from magnetar.storage.managed_ledger.position_ledger import PositionLedger, last_position


@pytest.fixture
def ledger(logs):
    return PositionLedger(NAME, "s", logs.ledgers, None)


async def last(logs, ledger_id):
    return await last_position(logs.ledgers, ledger_id, source="/a/cursor")


async def test_the_last_position_counts(logs, ledger):
    assert not ledger.appended_to
    first = await ledger.append(b"one")
    assert await ledger.append(b"two") == first
    assert ledger.appended_to
    await ledger.close()
    assert await last(logs, first) == b"two"


async def test_who_reads_it_fences_who_appends(logs, ledger):
    first = await ledger.append(b"one")
    assert await last(logs, first) == b"one"
    with pytest.raises(LedgerFenced):
        await ledger.append(b"two")
    assert await ledger.append(b"three") != first
    assert await last(logs, first) == b"one"


async def test_a_large_ledger_is_replaced_and_deleted_when_the_record_names_the_next(
    logs, ledger, monkeypatch
):
    monkeypatch.setattr(position_ledger, "POSITIONS_SIZE_MAX", 5)
    first = await ledger.append(b"one")
    await ledger.append(b"two")
    second = await ledger.append(b"three")
    assert second != first
    assert await last(logs, first) == b"two"
    await ledger.delete_former()
    with pytest.raises(LedgerNotFound):
        await logs.ledgers.open(LedgerId(first))
    await ledger.delete()
    with pytest.raises(LedgerNotFound):
        await logs.ledgers.open(LedgerId(second))


async def test_a_ledger_that_is_gone_or_empty_has_no_position(logs, caplog):
    assert await last(logs, 999) is None
    empty = await logs.ledgers.create()
    assert await last(logs, empty.ledger_id) is None
    assert caplog.text.count("cursor.ledger_missing") == 2


async def test_the_ledger_that_the_record_names_is_deleted_with_the_cursor(logs, ledger):
    named = await ledger.append(b"one")
    await ledger.close()
    await PositionLedger(NAME, "s", logs.ledgers, named).delete()
    with pytest.raises(LedgerNotFound):
        await logs.ledgers.open(LedgerId(named))
