import pytest
from support.loop import until_idle
from unit.broker.transactions.conftest import TOPIC, txn

from magnetar.broker.transactions import coordinator as coordinator_module
from magnetar.broker.transactions.transaction import TxnStatus, TxnSubscription
from magnetar.errors import (
    CoordinatorNotFound,
    InvalidTxnStatus,
    LimitReached,
    NotReady,
    TransactionNotFound,
    WriteFailed,
)


async def test_ids_count_up_and_are_told_when_they_are_durable(world):
    world.logs.ledgers.answers.close()
    first = await world.begin()
    second = await world.begin()
    assert (first, second) == (txn(0), txn(1))
    assert world.answers.given == []
    world.logs.ledgers.answers.open()
    await until_idle()
    assert len(world.answers.granted) == 2


async def test_a_number_that_is_reserved_is_told_at_once_and_never_given_again(world, monkeypatch):
    monkeypatch.setattr(coordinator_module, "RESERVED", 6)
    given = [await world.begin()]
    for _ in range(3):
        world.logs.ledgers.answers.close()
        while len(world.answers.granted) == len(given):
            given.append(await world.begin())
            if len(given) > 100:
                break
        waiting = given.pop()
        assert len(world.answers.given) == len(given)  # There are no more: who asked waits.
        world.logs.ledgers.answers.open()
        await until_idle()
        given.append(waiting)
        await world.crash()
        given.append(await world.begin())
    assert len(set(given)) == len(given)


async def test_the_end_of_what_has_no_part_anywhere_waits_for_nothing(world):
    first, second, third = [await world.begin() for _ in range(3)]
    await world.add(second)
    world.logs.ledgers.answers.close()
    await world.end(first)
    await world.end(second)
    await world.end(third, commit=False)
    assert world.answers.granted[-2:] == [("end", 0), ("end", 2)]
    world.logs.ledgers.answers.open()
    await until_idle()
    assert world.answers.granted[-1] == ("end", 1)
    with pytest.raises(TransactionNotFound):
        await world.end(third)


async def test_what_is_asked_in_one_iteration_is_one_write(world):
    first = await world.begin()
    before = world.logs.ledgers.appends.passed
    for number in range(100):
        world.coordinator.begin(60_000, None, world.answers.to(number))
        world.coordinator.add_topics(first, [TOPIC], world.answers.to("add"))
    await until_idle()
    assert world.logs.ledgers.appends.passed == before + 1
    assert [what for what in world.answers.granted[1:] if what != "add"] == list(range(100))


async def test_what_nobody_waits_for_is_written_with_the_next_that_somebody_does(world):
    first = await world.begin()
    before = world.logs.ledgers.appends.passed
    await world.end(await world.begin())
    later = await world.begin()
    assert world.logs.ledgers.appends.passed == before
    await world.add(later)
    await world.add(first)
    assert world.logs.ledgers.appends.passed == before + 2
    for number in range(coordinator_module.HELD_BACK_MAX + 1):
        await world.begin()
        assert (world.logs.ledgers.appends.passed == before + 2) == (
            number < coordinator_module.HELD_BACK_MAX
        )
    coordinator = await world.crash()
    assert later.least_bits in coordinator.transactions
    assert first.least_bits in coordinator.transactions


async def test_an_end_is_answered_when_all_that_took_part_were_told(world):
    txn_id = await world.begin()
    await world.add(txn_id)
    world.topics.open.clear()
    await world.end(txn_id)
    assert ("end", 0) not in world.answers.granted
    world.topics.open.set()
    await until_idle()
    assert world.answers.granted[-1] == ("end", 0)
    assert world.topics.ended == [(0, True, -1)]


async def test_who_asks_again_waits_for_the_same_end(world):
    txn_id = await world.begin()
    await world.add(txn_id)
    world.topics.open.clear()
    await world.end(txn_id)
    await world.end(txn_id)
    with pytest.raises(InvalidTxnStatus, match="COMMITTING"):
        world.coordinator.end(txn_id, "c", world.answers.to("abort"), commit=False)
    world.topics.open.set()
    await until_idle()
    assert world.answers.granted[-2:] == [("end", 0), ("end", 0)]
    assert len(world.topics.ended) == 1
    with pytest.raises(TransactionNotFound):
        await world.end(txn_id)


async def test_who_was_not_told_of_an_end_is_told_when_it_asks_again(world):
    committed, aborted = await world.begin(), await world.begin()
    await world.end(committed)
    await world.end(aborted, commit=False)
    await world.end(committed, client="the same, connected again")
    assert world.answers.granted[-1] == ("end", 0)
    for client in ("c", "the same, connected again"):
        with pytest.raises(TransactionNotFound):
            await world.end(committed, client=client)
    with pytest.raises(TransactionNotFound):
        await world.end(aborted, client="the same, connected again")
    await world.crash()
    await world.end(committed, client="once more")
    with pytest.raises(TransactionNotFound):
        await world.end(aborted, client="once more")
    assert world.topics.ended == []  # Nothing took part, and nothing is told twice.


async def test_only_so_many_that_ended_are_known(world, monkeypatch):
    monkeypatch.setattr(coordinator_module, "ENDED_MAX", 2)
    numbers = [await world.begin() for _ in range(3)]
    for each in numbers:
        await world.end(each)
    with pytest.raises(TransactionNotFound):
        await world.end(numbers[0], client="another")
    await world.end(numbers[1], client="another")


async def test_so_many_that_ended_are_known_after_the_log_was_shortened_and_read(
    world, monkeypatch
):
    monkeypatch.setattr(coordinator_module, "RECORDS_MIN", 20)
    monkeypatch.setattr(coordinator_module, "ENDED_MAX", 30)
    numbers = [await world.begin() for _ in range(40)]
    for each in numbers:
        await world.add(each)
        await world.end(each, commit=bool(each.least_bits % 4))
    assert world.coordinator.log.record_count < 4 * len(numbers)
    await world.crash()
    for each in numbers[10:]:
        committed = bool(each.least_bits % 4)
        with pytest.raises(TransactionNotFound):
            await world.end(each, client="another", commit=not committed)
        await world.end(each, client="another", commit=committed)
        assert world.answers.granted[-1] == ("end", each.least_bits)
    for each in numbers[:10]:
        with pytest.raises(TransactionNotFound):
            await world.end(each, client="another", commit=bool(each.least_bits % 4))
    assert len(world.topics.ended) in (40, 41)  # The record that the last has ended is lost.


async def test_topics_that_fail_are_told_again_until_they_answer(world):
    txn_id = await world.begin()
    await world.add(txn_id)
    world.topics.failures = [NotReady("not now")] * 3
    await world.end(txn_id, commit=False)
    assert world.topics.ended == []
    await world.clock.advance(1)
    assert world.topics.ended == [(0, False, -1)]
    assert world.answers.granted[-1] == ("end", 0)


async def test_a_transaction_whose_time_is_over_is_aborted(world):
    slow, fast = await world.begin(1500), await world.begin(1500)
    await world.add(slow)
    await world.end(fast)
    await world.clock.advance(1.4)
    assert world.topics.ended == []
    await world.clock.advance(0.2)
    assert world.topics.ended == [(0, False, -1)]
    with pytest.raises(TransactionNotFound, match=r"`\(0,0\)`not found $"):
        await world.end(slow)
    assert (world.coordinator.counts.timed_out, world.coordinator.counts.aborted) == (1, 1)


async def test_a_transaction_has_all_of_its_time_again_where_another_process_goes_on(world):
    await world.add(await world.begin(1500))
    await world.clock.advance(1)
    await world.crash()
    await world.clock.advance(1.4)
    assert world.topics.ended == []
    await world.clock.advance(0.2)
    assert world.topics.ended == [(0, False, -1)]


async def test_the_low_watermark_is_before_the_oldest_that_has_not_ended(world):
    assert world.coordinator.low_watermark == -1
    numbers = [await world.begin() for _ in range(3)]
    await world.end(numbers[1])
    assert world.coordinator.low_watermark == -1
    await world.end(numbers[0])
    assert world.coordinator.low_watermark == 1
    await world.end(numbers[2])
    assert (world.coordinator.low_watermark, world.coordinator.last_number) == (2, 2)


async def test_no_more_are_active_than_the_setting_says(world):
    coordinator = await world.start(active_max=1)
    await world.begin()
    with pytest.raises(LimitReached, match="maxActiveTransactionsPerCoordinator"):
        coordinator.begin(1000, None, world.answers.to("refused"))


async def test_nothing_takes_part_once_the_end_has_begun(world):
    txn_id = await world.begin()
    await world.add(txn_id)
    world.topics.open.clear()
    await world.end(txn_id)
    with pytest.raises(InvalidTxnStatus):
        await world.add(txn_id, "persistent://public/default/late")
    world.topics.open.set()


async def test_another_process_goes_on_where_one_ended(world):
    ended, open_one, ending = [await world.begin(10_000) for _ in range(3)]
    subscription = TxnSubscription(TOPIC, "s")
    world.coordinator.add_subscriptions(open_one, [subscription], world.answers.to("add"))
    await world.end(ended)
    await world.add(ending)
    world.topics.open.clear()
    await world.end(ending)
    await world.clock.advance(4)
    coordinator = await world.crash()
    assert set(coordinator.transactions) == {1, 2}
    assert set(coordinator.find(open_one).subscriptions) == {subscription}
    assert coordinator.find(ending).status is TxnStatus.COMMITTING
    world.topics.open.set()
    await until_idle()
    assert world.topics.ended == [(2, True, 0)]
    assert await world.begin() == txn(coordinator_module.RESERVED)
    await world.clock.advance(10.2)
    assert world.topics.ended[1:] == [(1, False, 0)]


async def test_numbers_are_not_given_again_when_nothing_is_left(world, monkeypatch):
    monkeypatch.setattr(coordinator_module, "RECORDS_MIN", 10)
    monkeypatch.setattr(coordinator_module, "HELD_BACK_MAX", 0)
    for _ in range(20):
        await world.end(await world.begin())
    assert world.coordinator.log.record_count < 20
    coordinator = await world.crash()
    assert coordinator.transactions == {}
    assert await world.begin() == txn(coordinator_module.RESERVED)


async def test_a_log_stays_short_whatever_is_left_open(world, monkeypatch):
    monkeypatch.setattr(coordinator_module, "RECORDS_MIN", 30)
    monkeypatch.setattr(coordinator_module, "HELD_BACK_MAX", 0)
    oldest = await world.begin()
    await world.add(oldest)
    for _ in range(200):
        await world.end(await world.begin())
    assert world.coordinator.log.record_count < 60
    coordinator = await world.crash()
    assert list(coordinator.find(oldest).topics) == [TOPIC]


async def test_who_waits_is_told_when_the_log_fails_and_nothing_more_is_taken(world):
    txn_id = await world.begin()
    await world.add(txn_id)
    world.logs.ledgers.appends.failing = WriteFailed("the disk is full")
    await world.end(txn_id)
    await until_idle()
    assert world.answers.given[-1][1] is not None
    assert world.coordinator.failed
    with pytest.raises(CoordinatorNotFound):
        await world.begin()
    world.logs.ledgers.appends.failing = None
    await world.crash()
    assert world.coordinator.find(txn_id)  # Its end was not answered.


async def test_closing_answers_what_is_stored_and_tells_others_to_ask_again(world):
    world.logs.ledgers.answers.close()
    world.coordinator.begin(60_000, None, world.answers.to("begin"))
    closing = world.logs.tasks.start("close", world.coordinator.close())
    await until_idle()
    with pytest.raises(CoordinatorNotFound):
        world.coordinator.begin(60_000, None, world.answers.to("late"))
    world.logs.ledgers.answers.open()
    await closing
    assert world.answers.granted == ["begin"]


async def test_who_waits_for_an_end_at_a_coordinator_that_is_given_up_asks_again(world):
    txn_id = await world.begin()
    await world.add(txn_id)
    world.topics.open.clear()
    await world.end(txn_id)
    coordinator = await world.crash()
    what, error = world.answers.given[-1]
    assert (what, type(error)) == (("end", 0), CoordinatorNotFound)
    coordinator.end(txn_id, "c", world.answers.to("again"), commit=True)
    world.topics.open.set()
    await until_idle()
    assert world.answers.granted[-1] == "again"
