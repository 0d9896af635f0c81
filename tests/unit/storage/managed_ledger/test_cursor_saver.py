import pytest
from support.loop import until_idle
from unit.storage.managed_ledger.logs import Gate

from magnetar.errors import Fenced, WriteFailed
from magnetar.storage.managed_ledger.cursor_saver import SAVES_AT_ONCE_MAX, CursorSaver


class Trimmer:
    """What the saver trims."""

    def __init__(self):
        self.name = "log"
        self.trims = Gate()

    async def trim(self):
        await self.trims.enter()


class Saved:
    """What the saver saves."""

    def __init__(self, trimmer):
        self.name = "cursor"
        self.trimmer = trimmer
        self.flushes = Gate()

    async def flush(self):
        await self.flushes.enter()


@pytest.fixture
def saver(logs):
    return CursorSaver(logs.tasks, logs.clock, interval_s=1.0)


@pytest.fixture
def trimmer():
    return Trimmer()


async def test_what_changed_is_saved_once_and_its_log_trimmed_after(logs, saver, trimmer):
    cursors = [Saved(trimmer) for _ in range(3)]
    for cursor in cursors * 5:
        saver.save_soon(cursor)
    await logs.clock.advance(0.9)
    assert cursors[0].flushes.passed == 0
    await logs.clock.advance(0.1)
    assert [cursor.flushes.passed for cursor in cursors] == [1, 1, 1]
    assert trimmer.trims.passed == 1


async def test_nothing_runs_when_nothing_changed(logs, saver, trimmer):
    assert saver.idle
    saver.save_soon(Saved(trimmer))
    assert not saver.idle
    await logs.clock.advance(1)
    assert saver.idle
    assert logs.clock.sleepers == 0
    assert len(logs.tasks) == 0


async def test_what_changes_during_a_save_is_saved_in_the_next_round(logs, saver, trimmer):
    cursor = Saved(trimmer)
    cursor.flushes.close()
    saver.save_soon(cursor)
    await logs.clock.advance(1)
    saver.save_soon(cursor)
    cursor.flushes.open()
    await until_idle()
    assert cursor.flushes.passed == 1
    await logs.clock.advance(1)
    assert cursor.flushes.passed == 2
    assert saver.idle


async def test_one_loop_serves_all(logs, saver, trimmer):
    for _ in range(10):
        saver.save_soon(Saved(trimmer))
        saver.trim_soon(Trimmer())
    assert len(logs.tasks) == 1
    await logs.clock.advance(1)


async def test_a_log_is_trimmed_on_request(logs, saver, trimmer):
    saver.trim_soon(trimmer)
    await logs.clock.advance(1)
    assert trimmer.trims.passed == 1
    assert saver.idle


async def test_many_are_saved_in_portions(logs, saver, trimmer):
    cursors = [Saved(trimmer) for _ in range(SAVES_AT_ONCE_MAX + 1)]
    for cursor in cursors:
        cursor.flushes.close()
        saver.save_soon(cursor)
    await logs.clock.advance(1)
    assert sum(cursor.flushes.waiting for cursor in cursors) == SAVES_AT_ONCE_MAX
    for cursor in cursors:
        cursor.flushes.open()
    await until_idle()
    assert all(cursor.flushes.passed == 1 for cursor in cursors)


async def test_a_save_that_failed_is_tried_again(logs, saver, trimmer, caplog):
    cursor, other = Saved(trimmer), Saved(trimmer)
    cursor.flushes.failures = [WriteFailed("disk full")]
    saver.save_soon(cursor)
    saver.save_soon(other)
    await logs.clock.advance(1)
    assert other.flushes.passed == 1
    assert not saver.idle
    await logs.clock.advance(1)
    assert cursor.flushes.passed == 2
    assert saver.idle
    assert "disk full" in caplog.text


async def test_what_another_broker_owns_is_given_up(logs, saver, trimmer):
    cursor = Saved(trimmer)
    cursor.flushes.failures = [Fenced("another broker")]
    saver.save_soon(cursor)
    await logs.clock.advance(1)
    assert saver.idle


async def test_a_trim_that_failed_stops_nobody(logs, saver, trimmer, caplog):
    trimmer.trims.failures = [WriteFailed("disk full"), Fenced("another broker")]
    other = Trimmer()
    for _ in range(2):
        saver.trim_soon(trimmer)
        saver.trim_soon(other)
        await logs.clock.advance(1)
    assert other.trims.passed == 2
    assert "disk full" in caplog.text


async def test_what_changes_during_a_long_trim_is_saved(logs, saver, trimmer):
    """Ledgers are deleted from stores that may take long."""
    cursor = Saved(trimmer)
    trimmer.trims.close()
    saver.save_soon(cursor)
    await logs.clock.advance(1)
    saver.save_soon(cursor)
    await logs.clock.advance(1)
    assert (cursor.flushes.passed, trimmer.trims.passed) == (2, 0)
    trimmer.trims.open()
    await until_idle()
    await logs.clock.advance(1)
    assert trimmer.trims.passed == 2, "what was saved meanwhile is trimmed as well"
    assert saver.idle
