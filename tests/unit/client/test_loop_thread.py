"""The loop behind all blocking clients of a process."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
from functools import partial

import pytest

from magnetar import Client, compat
from magnetar.client import blocking
from magnetar.client import loop_thread as loop_thread_module
from magnetar.client.loop_thread import LoopThread, loop_thread
from magnetar.errors import AlreadyClosed, InvalidValue, NotAllowed

OF_OTHERS = set()


@pytest.fixture(autouse=True)
def first_client():
    """Let the clients of each test be the first of their process: other tests leave some open."""
    OF_OTHERS.clear()
    OF_OTHERS.update(threading.enumerate())
    loop_thread_module._current = None


def of_ours():
    return {
        each
        for each in set(threading.enumerate()) - OF_OTHERS
        if each.name.startswith("magnetar-c")
    }


def test_one_loop_serves_every_client_of_the_process(broker):
    first, second = blocking.Client(broker.service_url), blocking.Client(broker.service_url)
    loops = list(of_ours())
    assert len(loops) == 1
    assert loops[0].daemon
    first.close()
    second.close()


def test_a_call_raises_what_was_called_raises():
    with loop_thread() as thread:
        with pytest.raises(ZeroDivisionError):
            thread.call(divmod, 1, 0)
        assert thread.call(divmod, 7, 3) == (2, 1)


def test_a_call_on_its_own_loop_is_refused_instead_of_hanging(blocking_client):
    async def mistake():
        blocking_client.partitions("t")

    with loop_thread() as thread, pytest.raises(NotAllowed, match="wait for itself"):
        thread.run(mistake)


def test_what_is_posted_is_called_in_order_before_what_is_asked_for_later():
    called = []
    with loop_thread() as thread:
        for number in range(1000):
            thread.post(partial(called.append, number))
        assert thread.call(lambda: list(called)) == list(range(1000))


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


def listened(module, client, topic, listener):
    if module is compat:
        kind = {"consumer_type": compat.ConsumerType.Shared}
        return client.subscribe(topic, "listening", message_listener=listener, **kind)
    return client.subscribe(topic, "listening", listener=listener)


@pytest.mark.parametrize("module", [blocking, compat])
def test_after_the_last_client_no_thread_is_left(broker, topic, module):
    for number in range(10):
        heard, told = threading.Event(), threading.Event()
        client = module.Client(broker.service_url)
        other = module.Client(broker.service_url)

        def listener(consumer, message, heard=heard):
            consumer.acknowledge(message)
            heard.set()

        listened(module, client, topic, listener)
        producer = client.create_producer(topic)
        if module is compat:
            producer.send_async(b"%d" % number, lambda *_, told=told: told.set())
        else:
            producer.submit(b"%d" % number).add_done_callback(lambda _, told=told: told.set())
        assert heard.wait(30)
        assert told.wait(30)
        client.close()
        assert len(of_ours()) == 1
        other.create_producer(topic).send(b"the other one goes on")
        other.close()
        assert not of_ours()


@pytest.mark.parametrize("module", [blocking, compat])
def test_a_listener_may_close_the_last_client(broker, topic, module):
    client, closed = module.Client(broker.service_url), threading.Event()

    def listener(consumer, message):
        consumer.acknowledge(message)
        client.close()
        closed.set()

    listened(module, client, topic, listener)
    (thread,) = [each for each in of_ours() if each.name == "magnetar-client"]
    client.create_producer(topic).send(b"one")
    assert closed.wait(30)
    thread.join(30)
    assert not thread.is_alive()
    with blocking.Client(broker.service_url) as later:
        assert later.partitions(topic) == 0


def test_a_callback_may_close_the_last_client(broker, topic):
    client, closed = compat.Client(broker.service_url), threading.Event()

    def sent(*_):
        client.close()
        closed.set()

    client.create_producer(topic).send_async(b"one", sent)
    assert closed.wait(30)
    for each in of_ours():
        each.join(30)
    assert not of_ours()


def test_a_close_does_not_wait_for_a_listener_which_is_heard_to_its_end(broker, topic, caplog):
    heard, go_on = threading.Event(), threading.Event()

    def listener(_consumer, _message):
        heard.set()
        go_on.wait(30)
        raise OSError("too late")

    client = blocking.Client(broker.service_url)
    client.subscribe(topic, "s", listener=listener)
    client.create_producer(topic).send(b"one")
    assert heard.wait(30)
    (thread,) = of_ours()
    client.close()
    assert thread.is_alive()
    go_on.set()
    thread.join(30)
    assert not thread.is_alive()
    assert f"consumer.listener_failed topic=persistent://public/default/{topic}" in caplog.text


def test_who_waits_while_another_thread_closes_the_last_client_is_told(broker, topic):
    client = blocking.Client(broker.service_url)
    consumer = client.subscribe(topic, "s")
    waiting = []

    def receive():
        with pytest.raises(AlreadyClosed):
            consumer.receive()
        waiting.append("told")

    receiver = threading.Thread(target=receive)
    receiver.start()
    client.close()
    receiver.join(30)
    assert waiting == ["told"]
    assert not of_ours()
    for late in (consumer.receive, lambda: client.create_producer(topic)):
        with pytest.raises(AlreadyClosed):
            late()
    client.close()
    assert not of_ours()


def test_a_client_that_is_dropped_ends_the_thread(broker):
    client = blocking.Client(broker.service_url)
    (thread,) = of_ours()
    del client
    with pytest.warns(ResourceWarning, match="unclosed <Client"):
        gc.collect()
    thread.join(30)
    assert not thread.is_alive()


def test_clients_may_come_and_go_in_many_threads(broker, topic):
    with blocking.Client(broker.service_url) as client:
        client.create_producer(topic)

    def come_and_go():
        for _ in range(20):
            with blocking.Client(broker.service_url) as client:
                found.append(client.partitions(topic))

    found = []
    threads = [threading.Thread(target=come_and_go) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert found == [0] * 160
    for each in of_ours():
        each.join(30)
    assert not of_ours()


def test_a_client_that_cannot_be_made_leaves_no_thread():
    with pytest.raises(InvalidValue):
        blocking.Client("nonsense")
    for each in of_ours():
        each.join(30)
    assert not of_ours()


FORK = """
import os, sys, threading
from magnetar.client import blocking

def once():
    with blocking.Client(sys.argv[1]) as client, client.create_producer("forked") as producer:
        producer.send(b"x")
    assert threading.active_count() == 1, threading.enumerate()
    return client

closed = once()
with blocking.Client(sys.argv[1]) as open_one:
    open_one.partitions("forked")
    child = os.fork()
    if child == 0:
        once()
        open_one.partitions("forked")
        closed.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
once()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_begins_and_ends_its_own(broker):
    subprocess.run([sys.executable, "-c", FORK, broker.service_url], check=True, timeout=60)
