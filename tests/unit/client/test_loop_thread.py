"""The loop behind all blocking clients of a process, and of the one it forks."""

import os
import threading
from functools import partial

import pytest

from magnetar.client import blocking
from magnetar.client.loop_thread import loop_thread
from magnetar.errors import NotAllowed


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
        loop_thread().run(mistake())


def test_what_is_posted_is_called_in_order_before_what_is_asked_for_later():
    called = []
    for number in range(1000):
        loop_thread().post(partial(called.append, number))
    assert loop_thread().call(lambda: list(called)) == list(range(1000))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_starts_afresh(broker, blocking_client, topic):
    blocking_client.create_producer(topic).send(b"from the parent")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        outcome = "nothing"
        try:
            try:
                blocking_client.partitions(topic)
            except NotAllowed as error:
                outcome = str(error)
            with blocking.Client(broker.service_url) as own:
                outcome += "|" + own.create_reader(topic).receive(10).data.decode()
        finally:
            os.write(writing, outcome.encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        outcome = pipe.read()
    os.waitpid(child, 0)
    refused, read = outcome.split("|")
    assert "before the process forked" in refused
    assert read == "from the parent"
