import asyncio

import pytest
from support.loop import until, until_idle

from magnetar.broker.topics.publishing.producer_access import TOPIC_EPOCH, AccessRequest
from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.errors import ConnectionLost, ProducerBusy, ProducerFenced, TopicClosed
from magnetar.model.producers import ProducerAccessMode

EXCLUSIVE = ProducerAccessMode.EXCLUSIVE
FENCING = ProducerAccessMode.EXCLUSIVE_WITH_FENCING
WAIT = ProducerAccessMode.WAIT_FOR_EXCLUSIVE
SHARED = ProducerAccessMode.SHARED


@pytest.fixture
def attach(bench, client_end):
    async def attach_one(name, mode=SHARED, *, end=None, topic_epoch=None, waits=lambda _: None):
        access = AccessRequest(mode, topic_epoch, waits=waits)
        return await bench.topic.attach_producer(end or client_end(), 1, name, access=access)

    return attach_one


@pytest.fixture
def in_line(attach):
    """Begins to wait; the claim and the task that has the producer one day."""

    async def stand(name, **options):
        claims = []
        work = asyncio.ensure_future(attach(name, WAIT, waits=claims.append, **options))
        await until(lambda: claims or work.done())
        return (claims or [None])[0], work

    return stand


async def test_an_exclusive_producer_keeps_all_others_away(attach):
    await attach("owner", EXCLUSIVE)
    with pytest.raises(ProducerBusy, match=r"^Topic has an existing exclusive producer: owner$"):
        await attach("other")
    with pytest.raises(ProducerFenced, match=r"^Topic has an existing exclusive producer: owner$"):
        await attach("other", EXCLUSIVE)


async def test_it_is_refused_where_others_are(attach):
    await attach("shared")
    with pytest.raises(ProducerFenced, match=r"^Topic has existing shared producers$"):
        await attach("late", EXCLUSIVE)


async def test_of_several_at_once_one_becomes_the_owner(bench, attach):
    results = await asyncio.gather(
        *(attach(f"p{n}", EXCLUSIVE) for n in range(5)), return_exceptions=True
    )
    assert [type(r).__name__ for r in results] == ["Producer", *["ProducerFenced"] * 4]
    assert list(bench.topic.producers) == ["p0"]


async def test_a_shared_producer_that_comes_while_one_becomes_the_owner_is_refused(attach):
    owner, shared = await asyncio.gather(
        attach("owner", EXCLUSIVE), attach("shared"), return_exceptions=True
    )
    assert owner.topic_epoch == 0
    assert isinstance(shared, ProducerBusy)


async def test_each_owner_has_the_next_epoch_and_it_is_kept(bench, attach):
    for epoch in range(3):
        owner = await attach("owner", EXCLUSIVE)
        assert owner.topic_epoch == epoch
        await owner.close()
    assert bench.topic.ledger.properties == {TOPIC_EPOCH: "2"}
    assert (await attach("shared")).topic_epoch == 2


async def test_who_comes_back_keeps_its_epoch_until_another_was_the_owner(attach):
    await (await attach("a", EXCLUSIVE)).close()
    again = await attach("a", EXCLUSIVE, topic_epoch=0)
    assert again.topic_epoch == 0
    await again.close()
    await (await attach("b", EXCLUSIVE)).close()
    for mode in (EXCLUSIVE, WAIT, FENCING):
        with pytest.raises(ProducerFenced, match=r"moved. Current epoch: 1, Producer epoch: 0$"):
            await attach("a", mode, topic_epoch=0)
    assert (await attach("c", EXCLUSIVE, topic_epoch=9)).topic_epoch == 9


async def test_an_owner_that_gives_no_sign_of_life_loses_the_topic(attach, client_end):
    dead = client_end()
    dead.lives = False
    await attach("dead", EXCLUSIVE, end=dead)
    assert (await attach("next", EXCLUSIVE)).topic_epoch == 1
    with pytest.raises(ProducerFenced, match="epoch has already moved"):
        await attach("dead", EXCLUSIVE, topic_epoch=0)


async def test_waiting_producers_take_turns_in_the_order_they_came(in_line, attach):
    owner = await attach("owner", EXCLUSIVE)
    _, first = await in_line("first")
    _, second = await in_line("second")
    await owner.close()
    assert (await first).topic_epoch == 1
    await until_idle()
    assert not second.done()
    with pytest.raises(ProducerBusy, match="existing exclusive producer: first"):
        await attach("shared")
    await (await first).close()
    assert (await second).topic_epoch == 2


async def test_shared_producers_are_waited_for_and_no_more_come(in_line, attach):
    shared = await attach("shared")
    _, waiting = await in_line("w")
    with pytest.raises(ProducerBusy, match=r"exclusive producer that waits for it: w$"):
        await attach("late")
    await shared.close()
    assert (await waiting).topic_epoch == 0


async def test_who_leaves_the_line_is_passed_over_and_uses_up_no_epoch(in_line, attach):
    owner = await attach("owner", EXCLUSIVE)
    claim, first = await in_line("first")
    _, second = await in_line("second")
    claim.leave()
    await owner.close()
    assert (await second).topic_epoch == 1
    assert first.cancelled()


async def test_who_is_elected_must_give_a_sign_of_life(in_line, attach, client_end):
    owner = await attach("owner", EXCLUSIVE)
    suspended = client_end()
    _, first = await in_line("first", end=suspended)
    _, second = await in_line("second")
    suspended.lives = False
    await owner.close()
    assert (await second).topic_epoch == 1
    with pytest.raises(ConnectionLost):
        await first


async def test_who_waits_hears_that_the_topic_closes(bench, in_line, attach):
    await attach("owner", EXCLUSIVE)
    _, waiting = await in_line("w")
    await bench.topic.close()
    with pytest.raises(TopicClosed):
        await waiting


async def test_stats_tell_the_access_mode_and_who_waits(bench, attach, in_line):
    await attach("owner", EXCLUSIVE)
    assert topic_stats(bench.topic).waiting_publishers == 0
    claim, _ = await in_line("w")
    stats = topic_stats(bench.topic)
    assert [each.access_mode for each in stats.publishers] == [EXCLUSIVE]
    assert stats.waiting_publishers == 1
    claim.leave()


async def test_fencing_sends_everybody_away(attach, in_line, client_end):
    ends = [client_end(), client_end()]
    for number, end in enumerate(ends):
        await attach(f"shared{number}", end=end)
    owner = await attach("f", FENCING)
    assert owner.topic_epoch == 0
    assert [end.sent for end in ends] == [[("close_producer", 1)]] * 2
    _, waiting = await in_line("w")
    assert (await attach("g", FENCING)).topic_epoch == 1
    assert owner.connection.sent == [("close_producer", 1)]
    with pytest.raises(ProducerFenced, match=r"^Fenced out$"):
        await waiting


async def test_one_with_an_old_epoch_fences_nobody_out(bench, attach):
    await (await attach("old", FENCING)).close()
    await attach("owner", FENCING)
    with pytest.raises(ProducerFenced, match="epoch has already moved"):
        await attach("old", FENCING, topic_epoch=0)
    assert list(bench.topic.producers) == ["owner"]


async def test_of_several_that_fence_at_once_the_last_one_stays(bench, attach):
    results = await asyncio.gather(
        *(attach(f"f{n}", FENCING) for n in range(4)), return_exceptions=True
    )
    owners = [each for each in results if not isinstance(each, ProducerFenced)]
    assert list(bench.topic.producers.values()) == owners
    assert len(owners) == 1


@pytest.mark.parametrize("mode", [EXCLUSIVE, FENCING])
async def test_an_owner_begins_when_all_that_was_sent_before_is_stored(
    bench, attach, make_run, make_entry, mode
):
    before = await attach("before", EXCLUSIVE)
    before.publish(make_run(make_entry("last word")))
    if mode is EXCLUSIVE:
        before.detach()  # Its connection is lost.
    after = await attach("after", mode)
    assert not before.entries_pending
    assert bench.topic.ledger.entry_count == 1
    before.publish(make_run(make_entry("too late")))
    after.publish(make_run(make_entry("first word")))
    await after.connection.until(lambda end: end.sent)
    assert bench.topic.ledger.entry_count == 2


async def test_one_that_could_not_be_attached_makes_room_for_the_next(bench, attach, in_line):
    await attach("shared")
    _, waiting = await in_line("w")
    with pytest.raises(ProducerFenced):
        await attach("x", EXCLUSIVE)
    await bench.topic.producers["shared"].close()
    assert (await waiting).name == "w"
