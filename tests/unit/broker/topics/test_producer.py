"""What is sent is answered, and closing waits for that."""

import asyncio

from magnetar.broker.topics.producer import Producer
from magnetar.errors import WriteFailed


def producer(end, published, detached):
    return Producer(
        producer_id=1,
        name="p",
        epoch=0,
        metadata={},
        outlet=end,
        publish=lambda _, run: published.append(run),
        detach=detached.append,
        connected_at_ms=0,
    )


async def test_a_run_is_answered_through_the_outlet(client_end, make_entry, make_run):
    end, published = client_end(), []
    p = producer(end, published, [])
    p.publish(make_run(make_entry("a"), make_entry("b")))
    p.stored(published[0], 5, 7)
    assert end.sent == [("receipts", 1, 2, 5, 7)]
    assert (p.entries_pending, p.message_count) == (0, 2)


async def test_a_run_may_be_answered_part_by_part(client_end, make_entry, make_run):
    end, published = client_end(), []
    p = producer(end, published, [])
    p.publish(make_run(*map(make_entry, "abc")))
    [run] = published
    p.stored(run.part(0, 1), 5, 7)
    p.refused(run.part(1, 3), error := WriteFailed("disk"))
    assert end.sent == [("receipts", 1, 1, 5, 7), ("errors", 1, 2, error)]
    assert (p.entries_pending, p.message_count) == (0, 1)


async def test_closing_waits_for_answers_and_then_takes_no_more(client_end, make_entry, make_run):
    end, published, detached = client_end(), [], []
    p = producer(end, published, detached)
    p.publish(make_run(make_entry("a")))
    closing = asyncio.ensure_future(p.close())
    await asyncio.sleep(0)
    assert not closing.done()
    p.refused(published[0], WriteFailed("disk"))
    await closing
    assert detached == [p]
    p.publish(late := make_run(make_entry("b")))
    assert len(published) == 1
    assert end.sent[-1] == ("dropped", late)


async def test_dropped_runs_are_settled_without_an_answer(client_end, make_entry, make_run):
    end, published = client_end(), []
    p = producer(end, published, [])
    p.publish(make_run(make_entry("a")))
    p.dropped(published[0])
    assert end.sent == [("dropped", published[0])]
    await p.close()
