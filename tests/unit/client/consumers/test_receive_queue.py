"""The queue alone: entries are lists, and are opened by hand."""

from itertools import chain
from threading import Thread

from magnetar.client.consumers.entry import Entry
from magnetar.client.consumers.receive_queue import FIRST_WINDOW, Opened, OpenedEntry, ReceiveQueue
from magnetar.client.message import Delivery
from magnetar.model.position import Position


def queue(size=10, opened=None):
    """Entries are just lists of messages here; an entry's permits are its length."""
    log = opened if opened is not None else []

    def open_entry(entry):
        log.append(entry)
        return Opened([m for m in entry if m is not None], len(entry))

    return ReceiveQueue(size, open_entry)


def test_messages_come_in_order_over_the_entries():
    received = queue()
    for entry in ([1, 2], [3], [4, 5, 6]):
        received.put(entry)
    assert received.take(4) == [1, 2, 3, 4]
    assert received.pop() == 5
    assert received.take(4) == [6]
    assert received.take(4) == []
    assert received.pop() is None


def test_entries_are_opened_when_they_are_wanted():
    opened = []
    received = queue(opened=opened)
    received.put([1, 2])
    received.put([3])
    assert opened == []
    received.take(2)
    assert opened == [[1, 2]]


def test_permits_are_given_back_by_halves():
    received = queue(size=6)
    received.restart()
    assert received.take_permits() == 6
    received.put([1, 2, 3, 4])
    received.take(2)
    assert not received.wants_more
    received.pop()
    assert received.wants_more
    assert received.take_permits() == 3
    assert not received.wants_more


def test_a_queue_of_one_asks_after_every_message():
    received = queue(size=1)
    received.put([1])
    received.pop()
    assert received.wants_more


def test_what_is_not_delivered_gives_its_permits_back_too():
    received = queue(size=6)
    received.put([None, None])
    received.put([None, 1])
    assert received.open()
    assert received.take_permits() == 3
    assert received.pop() == 1
    assert received.take_permits() == 1


def test_waiting_tells_without_opening():
    received = queue()
    assert not received.waiting
    received.put([1, 2])
    assert received.waiting
    received.pop()
    assert received.waiting
    received.pop()
    assert not received.waiting


def test_restart_drops_all_and_begins_with_every_permit():
    received = queue(size=6)
    received.put([1, 2, 3])
    received.put([4])
    received.take(2)
    received.restart()
    assert received.take_permits() == 6
    assert not received.waiting
    assert received.take_permits() == 0


def test_dropping_counts_as_consuming():
    received = queue(size=100)
    received.put([1, 2, 3])
    received.put([4, 5])
    received.pop()
    received.drop(len)
    assert not received.waiting
    assert received.take_permits() == 5
    received.release(2)
    assert received.take_permits() == 2


def test_a_queue_of_none_asks_for_a_message_when_somebody_waits():
    received = queue(size=0)
    received.restart()
    assert received.on_demand
    assert received.wants_one
    assert received.take_permits() == 1
    assert not received.wants_one
    received.put([1, 2, 3])
    assert received.take(2) == [1, 2]
    assert not received.wants_one
    assert received.pop() == 3
    assert not received.wants_more
    assert received.wants_one
    assert received.take_permits() == 3


def test_an_entry_that_is_not_ready_holds_back_those_behind_it():
    ready = {1: True, 2: False, 3: True}
    received = ReceiveQueue(10, lambda e: Opened([e], 1), ready.__getitem__)
    for entry in (1, 2, 3):
        received.put(entry)
    assert received.take(9) == [1]
    received.look_again()
    assert not received.waiting
    ready[2] = True
    received.look_again()
    assert received.take(9) == [2, 3]


def test_what_is_not_ready_is_dropped_like_the_rest():
    received = ReceiveQueue(10, lambda e: Opened([e], 1), lambda _: False)
    received.put(1)
    received.drop(lambda _: 5)
    assert received.wants_more
    received.put(2)
    received.restart()
    received.look_again()
    assert not received.waiting


def test_what_is_put_back_comes_behind_the_opened_entry_and_counts_when_it_is_taken():
    received = queue(size=6)
    received.put([1, 2])
    received.put([3])
    assert received.pop() == 1
    received.put_back([8, 9])
    assert received.waiting
    assert received.take(9) == [2, 8, 9, 3]
    assert received.take_permits() == 5


def test_what_any_thread_takes_is_counted_afterwards():
    received = queue(size=8)
    received.restart()
    assert received.take_permits() == 8
    received.put([1, 2, 3])
    received.put([4, 5])
    assert received.open()
    assert [next(received.messages), next(received.messages)] == [1, 2]
    assert not received.wants_more
    assert received.taken() == [1, 2]
    assert received.open(4), "the second entry is opened ahead"
    held = received.messages
    assert list(held) == [3, 4, 5]
    assert received.taken() == [3, 4, 5]
    assert received.wants_more
    assert received.take_permits() == 5
    assert not received.waiting


def test_what_is_dropped_cannot_be_taken_any_more():
    received = queue(size=8)
    received.put([1, 2, 3])
    received.open()
    held = received.messages
    assert next(held) == 1
    received.drop(len)
    assert next(held, None) is None, "whoever has the iterator finds it empty"
    assert received.taken() == [1]
    assert received.take_permits() == 3
    received.put([4, 5])
    received.open()
    held = received.messages
    next(held)
    received.restart()
    assert next(held, None) is None
    assert received.taken() == [4]


def test_threads_get_each_message_once():
    received, numbers = queue(size=20_000), range(20_000)
    received.put(list(numbers))
    received.open()
    found = [[], [], []]

    def take(mine):
        while (message := next(received.messages, None)) is not None:
            mine.append(message)

    threads = [Thread(target=take, args=(mine,)) for mine in found]  # As of blocking consumers.
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(chain(*found)) == list(numbers)
    assert len(received.taken()) == 20_000


class Weighed(list):
    """An entry with so many bytes."""

    def __init__(self, messages, size):
        super().__init__(messages)
        self.entry = bytes(size)


def weighed_queue(size, bytes_max):
    return ReceiveQueue(size, lambda entry: Opened(list(entry), len(entry)), bytes_max=bytes_max)


def outstanding_after(received, sizes, outstanding):
    """A broker that sends all it has permits for; the most that was ever sent ahead."""
    most = outstanding
    for size in sizes:
        received.put(Weighed([size], size))
        assert received.take(1) == [size]
        outstanding -= 1
        if received.wants_more:
            outstanding += received.take_permits()
        most = max(most, outstanding)
    return outstanding, most


def test_a_queue_bound_in_bytes_begins_small_and_grows_as_far_as_these_allow():
    received = weighed_queue(10_000, bytes_max=100_000)
    received.restart()
    first = received.take_permits()
    assert first == FIRST_WINDOW
    small, most = outstanding_after(received, [100] * 5000, first)
    assert 500 <= small <= most <= 1000  # So many of 100 bytes are 100,000.
    large, _ = outstanding_after(received, [10_000] * 3000, small)
    assert 5 <= large <= 10
    again, most = outstanding_after(received, [1] * 100_000, large)
    assert 5_000 <= again <= most <= 10_000


def test_a_message_larger_than_the_bytes_of_a_queue_comes_alone():
    received = weighed_queue(100, bytes_max=10)
    received.restart()
    left, _ = outstanding_after(received, [1000] * 300, received.take_permits())
    assert left == 1


def test_entries_are_taken_up_to_so_many_bytes():
    received = queue()
    entries = [
        Entry(Delivery("t", Position(1, n), -1, 0, None, 0, False), bytes(10)) for n in range(5)
    ]
    for entry in entries:
        received.put(entry)
    taken = received.take_entries(100, lambda entry: OpenedEntry(entry, 1), bytes_max=25)
    assert taken == entries[:3]
    assert received.take_entries(1, lambda entry: OpenedEntry(entry, 1), 1) == entries[3:4]
