"""Shared: everything goes to somebody once, and comes back when it must."""

import gc
import weakref

import pytest

from magnetar.model.subscriptions import SubscriptionType

SHARED = SubscriptionType.SHARED
KEY_SHARED = SubscriptionType.KEY_SHARED


async def two(bench, **fields):
    a = await bench.consumer(SHARED, "a", **fields)
    b = await bench.consumer(SHARED, "b", **fields)
    return a, b


async def test_entries_go_round_and_each_to_one_consumer(bench):
    (a, _, _), (b, _, _) = await two(bench)
    await bench.publish(*[str(n) for n in range(60)])
    await a.until(lambda _: len(a.got()) + len(b.got()) == 60)
    assert len(a.got()) in (20, 40)
    assert sorted(a.got() + b.got(), key=int) == [str(n) for n in range(60)]


async def test_permits_bound_what_each_consumer_gets(bench):
    (a, _, _), (b, subscription, second) = await two(bench, permits=2)
    await bench.publish(*"abcdef")
    await b.until(lambda _: len(a.got()) + len(b.got()) == 4)
    subscription.flow(second, 5)
    await b.until(lambda _: len(a.got()) + len(b.got()) == 6)
    assert len(b.got()) == 4


async def test_redelivery_counts_and_goes_out_again(bench):
    end, subscription, consumer = await bench.consumer(SHARED)
    await bench.publish("a", "b")
    await end.until(lambda e: len(e.got()) == 2)
    first = end.positions()[0]
    subscription.redeliver(consumer, [first])
    await end.until(lambda e: len(e.got()) == 3)
    assert end.sent[-1][3:5] == ("a", 1)
    subscription.redeliver(consumer, None)
    await end.until(lambda e: len(e.got()) == 5)
    assert [(s[3], s[4]) for s in end.sent[-2:]] == [("a", 2), ("b", 1)]


@pytest.mark.parametrize("kind", [SHARED, KEY_SHARED])
async def test_an_entry_that_a_client_names_twice_counts_once(bench, kind):
    end, subscription, consumer = await bench.consumer(kind)
    await bench.publish("a", "b")
    await end.until(lambda e: len(e.got()) == 2)
    first, second = end.positions()
    subscription.redeliver(consumer, [first, first])
    await end.until(lambda e: len(e.got()) == 3)
    assert end.sent[-1][3:5] == ("a", 1)
    subscription.acknowledge(consumer, [second, second, first, second])
    assert (consumer.unacked, subscription.cursor.backlog) == (0, 0)


@pytest.mark.parametrize("kind", [SHARED, KEY_SHARED])
async def test_a_long_dispatch_yields_to_others_and_goes_on_by_itself(open_bench, kind):
    bench = await open_bench(read_entries_max=1, iteration_entries_max=2)
    end, subscription, consumer = await bench.consumer(kind, permits=0)
    for number in range(6):
        await bench.publish(str(number))
    subscription.flow(consumer, 10)
    assert len(end.got()) == 2
    await end.until(lambda e: len(e.got()) == 6)
    assert end.got() == [str(number) for number in range(6)]


async def test_what_comes_back_in_parts_comes_back_whole(open_bench):
    bench = await open_bench(returned_at_once_max=2)
    end, subscription, consumer = await bench.consumer(SHARED)
    other, _, _ = await bench.consumer(SHARED, "other", permits=0)
    await bench.publish(*"abcdefg")
    await end.until(lambda e: len(e.got()) == 7)
    last = end.positions()[-1]
    subscription.redeliver(consumer, None)
    subscription.acknowledge(consumer, [last])  # It is on its way back: it will not go out again.
    await end.until(lambda e: len(e.got()) == 13)
    assert [(sent[3], sent[4]) for sent in end.sent[7:]] == [(text, 1) for text in "abcdef"]
    await bench.topic.leave(subscription, consumer)
    subscription.flow(subscription.consumers[0], 100)
    await other.until(lambda e: len(e.got()) == 6)
    assert other.got() == list("abcdef")


@pytest.mark.parametrize("kind", [SHARED, KEY_SHARED])
async def test_what_goes_out_again_is_found_beside_what_nobody_can_read(bench, make_entry, kind):
    end, subscription, consumer = await bench.consumer(kind, permits=0)
    corrupt = b"\0\0\0\x05\xff\xff\xff\xff\xffpayload"
    made = [make_entry("a"), corrupt, *map(make_entry, "bcd")]
    await bench.publish(*made, counts=[0] * 5)
    subscription.flow(consumer, 10)
    await end.until(lambda e: e.got() == list("abcd"))
    a, _, c, d = end.positions()
    subscription.redeliver(consumer, [d, a, c])
    await end.until(lambda e: len(e.got()) == 7)
    assert [(sent[2], sent[3], sent[4]) for sent in end.sent[4:]] == [
        (a, "a", 1), (c, "c", 1), (d, "d", 1),
    ]  # fmt: skip


async def test_what_a_lost_consumer_held_goes_to_the_others_without_a_count(bench):
    (a, subscription, first), (b, _, _) = await two(bench)
    await bench.publish("x")
    await a.until(lambda _: a.got() or b.got())
    loser, keeper = (a, b) if a.got() else (b, a)
    await bench.topic.leave(subscription, first if loser is a else subscription.consumers[1])
    await keeper.until(lambda e: e.got() == ["x"])
    assert keeper.sent[-1][4] == 0


async def test_nothing_keeps_a_consumer_that_left(bench):
    (a, subscription, first), _ = await two(bench)
    await bench.publish("x")
    assert a.got() == ["x"]
    await bench.topic.leave(subscription, first)
    gone = weakref.ref(first)
    del first
    gc.collect()
    assert gone() is None


async def test_the_first_consumer_after_nobody_starts_at_the_mark(bench):
    end, subscription, consumer = await bench.consumer(SHARED)
    await bench.publish("a", "b", "c")
    await end.until(lambda e: len(e.got()) == 3)
    subscription.acknowledge(consumer, [end.positions()[1]])
    subscription.redeliver(consumer, [end.positions()[0]])
    await bench.topic.leave(subscription, consumer)
    again, _, _ = await bench.consumer(SHARED)
    await again.until(lambda e: len(e.got()) == 2)
    assert [(s[3], s[4]) for s in again.sent] == [("a", 1), ("c", 0)], "and counts are kept"


async def test_an_acknowledgement_by_another_consumer_counts(bench):
    (a, subscription, first), (b, _, second) = await two(bench)
    await bench.publish("x")
    await a.until(lambda _: a.got() or b.got())
    holder, other = (first, second) if a.got() else (second, first)
    position = (a.positions() + b.positions())[0]
    subscription.acknowledge(other, [position])
    assert holder.unacked == 0
    assert subscription.cursor.backlog == 0


async def test_a_consumer_stops_at_its_unacked_limit_and_goes_on_at_half(open_bench):
    bench = await open_bench(unacked_per_consumer_max=3)
    end, subscription, consumer = await bench.consumer(SHARED, permits=10)
    await bench.publish(*"abcdefgh")
    await end.until(lambda e: len(e.got()) == 3)
    assert consumer.blocked
    subscription.flow(consumer, 5)
    subscription.acknowledge(consumer, [end.positions()[0]])
    assert end.got() == ["a", "b", "c"]
    subscription.acknowledge(consumer, [end.positions()[1]])
    await end.until(lambda e: len(e.got()) == 5)
    assert consumer.permits == 10 - 5 + 5


async def test_all_chunks_of_a_message_go_to_one_consumer(bench, make_entry):
    (a, _, _), (b, _, _) = await two(bench)

    def chunk(uuid, index):
        return make_entry(f"{uuid}{index}", uuid=uuid, chunk_id=index, num_chunks_from_msg=3)

    entries = [chunk(uuid, index) for index in range(3) for uuid in ("m", "n")]
    await bench.publish(*entries, counts=[0] * 6)
    await a.until(lambda _: len(a.got()) + len(b.got()) == 6)
    for end in (a, b):
        assert {text[0] for text in end.got()} in ({"m"}, {"n"})
        assert [text[1] for text in end.got()] == ["0", "1", "2"]


async def test_chunks_that_wait_for_their_consumer_hold_up_nobody_else(bench, make_entry):
    a, subscription, first = await bench.consumer(SHARED, "a", permits=1)
    chunks = [
        make_entry(f"m{index}", uuid="m", chunk_id=index, num_chunks_from_msg=3)
        for index in range(3)
    ]
    await bench.publish(chunks[0], counts=[0])
    b, _, _ = await bench.consumer(SHARED, "b")
    await bench.publish(*chunks[1:], counts=[0, 0])
    await bench.publish("x")
    await b.until(lambda e: e.got() == ["x"])
    subscription.flow(first, 2)
    await a.until(lambda e: e.got() == ["m0", "m1", "m2"])
    await bench.publish("y")
    await b.until(lambda e: e.got() == ["x", "y"])


async def test_chunks_whose_consumer_left_go_to_another(bench, make_entry):
    _, subscription, first = await bench.consumer(SHARED, "a", permits=1)
    b, _, _ = await bench.consumer(SHARED, "b", permits=0)
    chunks = [
        make_entry(f"m{index}", uuid="m", chunk_id=index, num_chunks_from_msg=2)
        for index in range(2)
    ]
    await bench.publish(*chunks, counts=[0, 0])
    subscription.flow(subscription.consumers[1], 5)
    assert b.got() == []
    await bench.topic.leave(subscription, first)
    await b.until(lambda e: e.got() == ["m0", "m1"])


async def test_messages_of_a_batch_are_acknowledged_one_by_one(open_bench, make_entry):
    bench = await open_bench(batch_index_acks=True)
    end, subscription, consumer = await bench.consumer(SHARED)
    await bench.publish(make_entry("x", batch=3), counts=[3])
    await end.until(lambda e: len(e.got()) == 1)
    position = end.positions()[0]
    subscription.acknowledge(consumer, [], [(position, [0b110])])
    assert consumer.unacked == 2
    subscription.redeliver(consumer, None)
    await end.until(lambda e: len(e.got()) == 2)
    assert end.sent[-1][5] == [0b110]
    subscription.acknowledge(consumer, [], [(position, [0b000])])
    assert (consumer.unacked, subscription.cursor.backlog) == (0, 0)


async def test_acknowledgements_count_messages(open_bench, make_entry):
    bench = await open_bench(batch_index_acks=True)
    end, subscription, consumer = await bench.consumer(SHARED)
    await bench.publish(
        "a", make_entry("abc", batch=3), make_entry("defg", batch=4), counts=[1, 3, 4]
    )
    await end.until(lambda e: len(e.got()) == 3)
    alone, three, four = end.positions()
    counted = []
    for whole, parts in (
        ([alone], ()),
        ([], [(three, [0b110])]),
        ([], [(three, [0b000])]),
        ([four], ()),
        ([four], ()),  # Nobody holds it any more.
    ):
        subscription.acknowledge(consumer, whole, parts)
        counted.append(consumer.totals.acked_count)
    assert counted == [1, 2, 4, 8, 9]


async def test_an_active_consumers_acknowledgements_count_entries(bench, make_entry):
    end, subscription, consumer = await bench.consumer(SubscriptionType.EXCLUSIVE)
    await bench.publish(make_entry("abc", batch=3), "d", counts=[3, 1])
    await end.until(lambda e: len(e.got()) == 2)
    subscription.acknowledge(consumer, end.positions())
    assert consumer.totals.acked_count == 2
