"""The loop behind all blocking clients of a process."""

import asyncio
import threading
from functools import partial

import pytest

from magnetar import Client
from magnetar.client import blocking
from magnetar.client import loop_thread as loop_thread_module
from magnetar.client.loop_thread import LoopThread, loop_thread
from magnetar.errors import AlreadyClosed, NotAllowed


def test_one_loop_serves_every_client_of_the_process(broker):
    first, second = blocking.Client(broker.service_url), blocking.Client(broker.service_url)
    loops = [t for t in threading.enumerate() if t.name == "magnetar-client"]
    assert len(loops) == 1
    assert loops[0].daemon
    first.close()
    second.close()


def test_a_call_raises_what_was_called_raises():
    with pytest.raises(ZeroDivisionError):
        loop_thread().call(divmod, 1, 0)
    assert loop_thread().call(divmod, 7, 3) == (2, 1)


def test_a_call_on_its_own_loop_is_refused_instead_of_hanging(blocking_client):
    async def mistake():
        blocking_client.partitions("t")

    with pytest.raises(NotAllowed, match="wait for itself"):
        loop_thread().run(mistake)


def test_what_is_posted_is_called_in_order_before_what_is_asked_for_later():
    called = []
    for number in range(1000):
        loop_thread().post(partial(called.append, number))
    assert loop_thread().call(lambda: list(called)) == list(range(1000))


def test_a_post_that_is_interrupted_leaves_the_next_one_to_wake_the_loop():
    thread = LoopThread()
    called = []

    class Interrupted:
        def call_soon_threadsafe(self, function):
            raise KeyboardInterrupt

    loop, thread._loop = thread._loop, Interrupted()
    with pytest.raises(KeyboardInterrupt):
        thread.post(partial(called.append, 1))
    thread._loop = loop
    thread.post(partial(called.append, 2))
    assert thread.call(lambda: list(called)) == [1, 2]
    thread.end()


def test_one_that_has_stopped_refuses_instead_of_hanging(broker):
    thread = LoopThread()
    client = thread.call(Client, broker.service_url)
    thread.keep(client)
    producer = thread.run(partial(client.create_producer, "stopped", batch_delay_s=60))
    thread.call(producer.send_nowait, b"taken")
    with pytest.warns(ResourceWarning, match=f"unclosed .*: <Client of {broker.service_url}>;"):
        thread.end()
    assert producer.last_sequence_id == 0
    for late in (thread.call, thread.post):
        with pytest.raises(AlreadyClosed, match="the process ends"):
            late(producer.send_nowait)
    thread.finish(producer.close)
    thread.finish_later(producer.close)


def test_the_end_of_a_process_is_bounded(monkeypatch):
    monkeypatch.setattr(loop_thread_module, "EXIT_S", 0.01)

    class Stuck:
        async def close(self, timeout_s):
            assert timeout_s == 0.01
            self.closing = asyncio.current_task()
            await asyncio.Event().wait()

    thread, stuck = LoopThread(), Stuck()
    thread.keep(stuck)
    with (
        pytest.warns(ResourceWarning, match="unclosed"),
        pytest.warns(RuntimeWarning, match=r"stored: it has not ended within 1\.01 s"),
    ):
        thread.end()
    assert stuck.closing.cancelled()
