"""What the blocking classes have in common; ``tests/client/test_processes.py`` forks them."""

import gc
import threading

import pytest

from magnetar.client import blocking
from magnetar.client.facade import LIST_SIZE, listed, lists
from magnetar.errors import InvalidValue


def test_an_iterator_runs_in_the_thread_that_calls():
    here = threading.get_ident()
    assert listed(threading.get_ident() for _ in range(2)) == [here, here]
    kept = [1], (2,), {3: 4}, "5", b"6"
    assert all(listed(each) is each for each in kept)


def test_one_without_end_is_taken_in_lists():
    assert [len(some) for some in lists(iter(range(2 * LIST_SIZE + 1)))] == [LIST_SIZE] * 2 + [1]
    assert list(lists([1, 2])) == [[1, 2]]


def test_a_forgotten_client_says_so_and_is_closed(broker, topic):
    client = blocking.Client(broker.service_url)
    producer = client.create_producer(topic, batch_delay_s=60)
    producer.send_nowait(b"taken")
    del client
    gc.collect()
    producer.send_nowait(b"still open, since its producer is in use")
    producer.self = producer  # Only the collection ends it, which may come by itself at any time.
    kept = [producer]
    del producer

    def drop():
        kept.clear()
        gc.collect()

    with pytest.warns(ResourceWarning, match=f"unclosed <Client of {broker.service_url}>"):
        drop()
    with blocking.Client(broker.service_url) as other:
        reader = other.create_reader(topic)
        assert reader.receive(30).data == b"taken"


def test_what_could_not_be_made_needs_no_closing():
    with pytest.raises(InvalidValue):
        blocking.Client("nonsense")
    gc.collect()
