"""How kazoo waits for its socket: what is ready, and that answers are told at once."""

import socket
import threading
from contextlib import suppress

import pytest
from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import Callback

from magnetar.storage.metadata.kazoo_handler import PollingHandler


@pytest.fixture
def handler():
    handler = PollingHandler()
    handler.start()
    yield handler
    handler.stop()


@pytest.fixture
def ends():
    here, there = socket.socketpair()
    with here, there:
        yield here, there


def test_what_has_arrived_is_readable(handler, ends):
    here, there = ends
    assert handler.select([here], [], [], 0) == ([], [], [])
    there.send(b"x")
    assert handler.select([here], [], [], None) == ([here], [], [])


def test_a_socket_is_writable_until_it_is_full(handler, ends):
    here, _ = ends
    assert handler.select([here], [here], [], 1) == ([], [here], [])
    here.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            here.send(bytes(1 << 20))
    assert handler.select([], [here], [], 0) == ([], [], [])


def test_an_end_that_is_closed_is_readable_and_writable(handler, ends):
    here, there = ends
    there.close()
    assert handler.select([here], [here], [], None) == ([here], [here], [])


def test_a_socket_that_was_closed_cannot_be_waited_for(handler):
    closed = socket.socket()
    closed.close()
    with pytest.raises(ValueError, match="negative"):
        handler.select([closed], [], [], 1)


@pytest.mark.parametrize("before", [True, False], ids=["linked before", "linked after"])
def test_an_answer_is_told_by_who_brings_it(handler, before):
    answer, told = handler.async_result(), []

    def note(result):
        told.append((result.value, threading.current_thread()))

    if before:
        answer.rawlink(note)
    answer.set("there")
    if not before:
        answer.rawlink(note)
    assert told == [("there", threading.current_thread())]


def test_an_error_is_told_too(handler):
    answer, told = handler.async_result(), []
    answer.rawlink(lambda result: told.append(result.exception))
    error = NoNodeError()
    answer.set_exception(error)
    assert told == [error]
    with pytest.raises(NoNodeError):
        answer.get()


def test_any_number_of_requests_wakes_its_thread_and_none_waits_for_it(handler):
    reader, writer = handler.create_socket_pair()
    for _ in range(10_000):
        assert writer.send(b"\0") == 1
    for _ in range(10_000):
        assert handler.select([reader], [], [], 0)[0] == [reader]
        assert reader.recv(1) == b"\0"
    assert handler.select([reader], [], [], 0)[0] == []
    writer.close()


def test_who_wakes_a_closed_connection_is_told(handler):
    reader, writer = handler.create_socket_pair()
    writer.send(b"\0")
    writer.close()
    reader.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        writer.send(b"\0")


def test_a_change_is_told_before_the_answer_behind_it(handler):
    told, answer = [], handler.async_result()
    answer.rawlink(lambda _: told.append("answer"))
    handler.dispatch_callback(Callback("watch", told.append, ("change",)))
    answer.set("done")
    assert told == ["change", "answer"]
