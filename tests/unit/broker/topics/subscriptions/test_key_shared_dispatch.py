"""Key_Shared: a key's messages in order, whoever comes and goes."""

import itertools
import time

from support.loop import until_idle

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.broker.dispatch.key_shared import KEY_KNOWN_SIZE_MAX
from magnetar.model.position import Position
from magnetar.model.subscriptions import SubscriptionType

KEY_SHARED = SubscriptionType.KEY_SHARED
KEYS = [f"key-{n}" for n in range(20)]


def texts(keys, number):
    return [f"{key}/{number}" for key in keys]


def entries(make_entry, keys, number):
    return [make_entry(f"{key}/{number}", key=key) for key in keys]


async def test_a_key_always_goes_to_the_same_consumer(bench, make_entry):
    a, _, _ = await bench.consumer(KEY_SHARED, "a")
    b, _, _ = await bench.consumer(KEY_SHARED, "b")
    for number in range(3):
        await bench.publish(*entries(make_entry, KEYS, number))
    await a.until(lambda _: len(a.got()) + len(b.got()) == 60)
    assert a.got()
    assert b.got()
    keys_a, keys_b = ({text.split("/")[0] for text in end.got()} for end in (a, b))
    assert not keys_a & keys_b
    for end, keys in ((a, keys_a), (b, keys_b)):
        for key in keys:
            mine = [text for text in end.got() if text.startswith(f"{key}/")]
            assert mine == [f"{key}/{number}" for number in range(3)]


async def test_a_slow_consumers_keys_wait_in_order_while_others_go_on(bench, make_entry):
    a, subscription, slow = await bench.consumer(KEY_SHARED, "a", permits=1)
    b, _, _ = await bench.consumer(KEY_SHARED, "b")
    for number in range(3):
        await bench.publish(*entries(make_entry, KEYS, number))
    b_keys = [k for k in KEYS if f"{k}/0" in b.got()]
    await b.until(lambda e: len(e.got()) == 3 * len(b_keys))
    assert len(a.got()) == 1
    subscription.flow(slow, 1000)
    await a.until(lambda e: len(e.got()) + len(b.got()) == 60)
    for key in KEYS:
        for end in (a, b):
            mine = [t for t in end.got() if t.startswith(f"{key}/")]
            assert mine in ([], [f"{key}/{n}" for n in range(3)])


async def test_a_key_that_nothing_waits_of_goes_out_before_those_that_wait(open_bench, make_entry):
    """Where permits come while what is new is read from disk, for a consumer that had none left."""
    bench = await open_bench(cache_bytes=0)
    a, subscription, slow = await bench.consumer(KEY_SHARED, "a", permits=1)
    await bench.consumer(KEY_SHARED, "b")
    key, other = keys_of(subscription, slow, 2)
    await bench.publish(make_entry("0", key=key), make_entry("1", key=key))
    await until_idle()
    assert (a.got(), subscription.dispatch.waiting_count) == (["0"], 1)
    await bench.publish(make_entry("2", key=other), make_entry("3", key=key))
    subscription.flow(slow, 10)
    await a.until(lambda e: len(e.got()) == 4)
    assert a.got() == ["0", "2", "1", "3"]


async def test_a_moved_key_waits_until_its_old_owner_has_acknowledged(bench, make_entry):
    a, subscription, first = await bench.consumer(KEY_SHARED, "a")
    await bench.publish(*entries(make_entry, KEYS, 0))
    await a.until(lambda e: len(e.got()) == 20)
    b, _, _ = await bench.consumer(KEY_SHARED, "b")
    await bench.publish(*entries(make_entry, KEYS, 1))
    moved = [k for k in KEYS if f"{k}/1" not in a.got()]
    assert moved
    assert b.got() == []
    held = dict(zip(a.got(), a.positions(), strict=True))
    subscription.acknowledge(first, [held[f"{moved[0]}/0"]])
    await b.until(lambda e: e.got() == [f"{moved[0]}/1"])
    subscription.acknowledge(first, [held[f"{key}/0"] for key in moved[1:]])
    await b.until(lambda e: sorted(e.got()) == sorted(texts(moved, 1)))


async def test_when_a_consumer_leaves_its_keys_go_to_the_others_in_order(bench, make_entry):
    a, _, _ = await bench.consumer(KEY_SHARED, "a")
    b, subscription, second = await bench.consumer(KEY_SHARED, "b")
    for number in range(3):
        await bench.publish(*entries(make_entry, KEYS, number))
    await b.until(lambda _: len(a.got()) + len(b.got()) == 60)
    lost = b.got()
    before = len(a.got())
    await bench.topic.leave(subscription, second)
    await a.until(lambda e: len(e.got()) == 60)
    again = a.got()[before:]
    for key in {text.split("/")[0] for text in lost}:
        assert [t for t in again if t.startswith(f"{key}/")] == [f"{key}/{n}" for n in range(3)]


def keys_of(subscription, consumer, count):
    """Keys that belong to ``consumer``."""
    ranges = subscription.dispatch.strategy.ranges
    keys = (f"key-{n}" for n in itertools.count())
    mine = (key for key in keys if ranges.select(ranges.slot(key.encode())) is consumer)
    return list(itertools.islice(mine, count))


async def test_a_moved_key_goes_on_when_its_old_owner_leaves(bench, make_entry):
    a, subscription, first = await bench.consumer(KEY_SHARED, "a")
    _, _, second = await bench.consumer(KEY_SHARED, "b")
    [key] = keys_of(subscription, second, 1)
    await bench.topic.leave(subscription, second)
    await bench.publish(make_entry("0", key=key))
    await a.until(lambda e: e.got() == ["0"])
    b, _, _ = await bench.consumer(KEY_SHARED, "b")
    await bench.publish(make_entry("1", key=key))
    assert b.got() == []
    await bench.topic.leave(subscription, first)
    await b.until(lambda e: e.got() == ["0", "1"])


async def test_what_comes_back_goes_before_what_was_just_about_to_go_out(bench, make_entry):
    a, subscription, first = await bench.consumer(KEY_SHARED, "a", permits=1)
    b, _, _ = await bench.consumer(KEY_SHARED, "b")
    [key] = keys_of(subscription, first, 1)
    await bench.publish(*(make_entry(str(n), key=key) for n in range(3)))
    assert a.got() == ["0"]
    subscription.flow(first, 1)  # The second entry is read again now, for its owner.
    await bench.topic.leave(subscription, first)
    await b.until(lambda e: len(e.got()) == 3)
    assert b.got() == ["0", "1", "2"]


async def test_nothing_is_remembered_of_entries_that_were_skipped_while_they_waited(
    bench, make_entry
):
    a, subscription, first = await bench.consumer(KEY_SHARED, "a", permits=0)
    await bench.consumer(KEY_SHARED, "b")
    [key] = keys_of(subscription, first, 1)
    await bench.publish(*(make_entry(str(n), key=key) for n in range(3)))
    subscription.cursor.acknowledge_cumulative(bench.topic.ledger.last_position)
    await bench.publish(make_entry("3", key=key))
    subscription.flow(first, 10)
    await a.until(lambda e: e.got() == ["3"])
    subscription.acknowledge(first, [a.positions()[0]])
    table = subscription.dispatch.strategy.table
    assert not list(table.groups_of(bench.topic.ledger.last_position.ledger_id, range(9)))


async def test_looking_far_ahead_does_not_take_long(open_bench, make_entry):
    bench = await open_bench(cache_bytes=64 * 1024 * 1024)
    _, subscription, full = await bench.consumer(KEY_SHARED, "a", permits=0)
    _, _, idle = await bench.consumer(KEY_SHARED, "b", permits=0)
    await bench.publish(*entries(make_entry, keys_of(subscription, full, 5_000), 0))
    began = time.process_time()
    subscription.flow(idle, 1)
    await until_idle()
    assert subscription.dispatch.waiting_count == 4_000
    assert time.process_time() - began < 2, "it looked at all that waits, for each that came"


async def holding(bench, make_entry, keys):
    """A consumer that holds an entry for each of ``keys``; one more of the last key waits."""
    end, subscription, consumer = await bench.consumer(KEY_SHARED, "a", permits=len(keys))
    await bench.publish(*(make_entry(str(n), key=key) for n, key in enumerate([*keys, keys[-1]])))
    await end.until(lambda e: len(e.got()) == len(keys))
    return end, subscription, consumer, end.positions()


async def test_long_keys_are_delivered_and_not_remembered(bench, make_entry):
    edge, long = "e" * KEY_KNOWN_SIZE_MAX, "l" * (KEY_KNOWN_SIZE_MAX + 1)
    a, subscription, _ = await bench.consumer(KEY_SHARED, "a")
    b, _, _ = await bench.consumer(KEY_SHARED, "b")
    await bench.publish(*(make_entry(str(n), key=key) for n, key in enumerate([edge, long] * 5)))
    await a.until(lambda _: len(a.got()) + len(b.got()) == 10)
    assert set(subscription.dispatch.strategy.known_slots) == {edge.encode()}
    whose = [{int(text) % 2 for text in end.got()} for end in (a, b)]
    assert sorted([*whose[0], *whose[1]]) == [0, 1], "each key went to one of them"


async def test_what_was_never_held_does_not_come_back(bench, make_entry):
    a, subscription, first = await bench.consumer(KEY_SHARED, "a")
    await bench.publish(*entries(make_entry, KEYS, 0))
    await a.until(lambda e: len(e.got()) == 20)
    await bench.consumer(KEY_SHARED, "b")
    assert len(subscription.dispatch.strategy.draining) > 0
    subscription.redeliver(first, [Position(99, 5), Position(0, 99)])
    subscription.acknowledge(first, [Position(99, 5), Position(0, 99)])
    assert (subscription.dispatch.waiting_count, first.unacked) == (0, 20)


async def test_what_is_new_waits_until_all_is_back(open_bench, make_entry):
    bench = await open_bench(returned_at_once_max=2)
    end, subscription, consumer, held = await holding(bench, make_entry, ["k"] * 12)
    subscription.redeliver(consumer, None)
    subscription.acknowledge(consumer, held[:10])
    subscription.flow(consumer, 100)
    await end.until(lambda e: len(e.got()) == 12 + 3)
    assert end.got()[12:] == ["10", "11", "12"]


async def test_what_was_read_meanwhile_waits_until_all_is_back(open_bench, make_entry):
    bench = await open_bench(cache_bytes=0, returned_at_once_max=2)
    keys = ["x"] * 30 + ["k"]
    end, subscription, consumer, _ = await holding(bench, make_entry, keys)
    subscription.flow(consumer, 100)  # Reads the one that waits.
    subscription.redeliver(consumer, None)
    await end.until(lambda e: len(e.got()) == 31 + 32)
    assert [text for text in end.got()[31:] if int(text) >= 30] == ["30", "31"]


async def test_what_was_to_go_out_again_waits_until_all_is_back(open_bench, make_entry):
    bench = await open_bench(cache_bytes=0, returned_at_once_max=2)
    end, subscription, consumer, held = await holding(bench, make_entry, ["x", "x", "k", "k", "k"])
    subscription.redeliver(consumer, held[4:])
    subscription.flow(consumer, 100)  # Reads that one again.
    subscription.redeliver(consumer, None)
    await end.until(lambda e: len(e.got()) == 5 + 6)
    assert [text for text in end.got()[5:] if text not in "01"] == ["2", "3", "4", "5"]


async def test_redelivery_hands_a_moved_key_to_its_new_owner(bench, make_entry):
    a, subscription, first = await bench.consumer(KEY_SHARED, "a")
    await bench.publish(*entries(make_entry, KEYS, 0))
    await a.until(lambda e: len(e.got()) == 20)
    b, _, _ = await bench.consumer(KEY_SHARED, "b")
    subscription.redeliver(first, None)
    await b.until(lambda _: len(a.got()) + len(b.got()) == 40)
    assert b.got()
    assert all(sent[4] == 1 for sent in b.sent)


async def test_redelivery_of_what_nobody_holds_is_nothing_also_while_keys_move(bench, make_entry):
    a, subscription, first = await bench.consumer(KEY_SHARED, "a")
    await bench.publish(*entries(make_entry, KEYS, 0))
    await a.until(lambda e: len(e.got()) == 20)
    await bench.consumer(KEY_SHARED, "b")  # From now on keys of a's wait for it to finish.
    subscription.redeliver(first, [Position(999, 0)])
    assert first.unacked == 20


async def test_redelivery_of_what_nobody_holds_is_not_a_reason_to_wait(bench, make_entry):
    _, subscription, consumer = await bench.consumer(KEY_SHARED, "a", permits=0)
    subscription.redeliver(consumer, [Position(999, 0)])
    await bench.publish(make_entry("x", key="k"))
    assert subscription.blocked_reason() == Blocked(Why.NO_PERMITS, "a")


async def test_with_out_of_order_delivery_nothing_waits(bench, make_entry):
    a, _, _ = await bench.consumer(KEY_SHARED, "a", allow_out_of_order=True)
    await bench.publish(*entries(make_entry, KEYS, 0))
    await a.until(lambda e: len(e.got()) == 20)
    b, _, _ = await bench.consumer(KEY_SHARED, "b", allow_out_of_order=True)
    await bench.publish(*entries(make_entry, KEYS, 1))
    await b.until(lambda _: len(a.got()) + len(b.got()) == 40)
    assert b.got()


async def test_sticky_slots_nobody_declared_are_not_delivered_until_somebody_does(
    bench, make_entry
):
    a, _, _ = await bench.consumer(KEY_SHARED, "a", hash_ranges=((0, 32767),))
    await bench.publish(*entries(make_entry, KEYS, 0))
    covered = len(a.got())
    assert 0 < covered < 20
    b, _, _ = await bench.consumer(KEY_SHARED, "b", hash_ranges=((32768, 65535),))
    await b.until(lambda e: len(e.got()) == 20 - covered)
    assert sorted(a.got() + b.got()) == sorted(texts(KEYS, 0))
