"""Callbacks are called in order, in one thread, which outlives what they raise."""

import threading

from magnetar.compat.callbacks import Callbacks


def test_callbacks_are_called_in_order_in_one_thread(caplog):
    callbacks = Callbacks()
    called = []

    def fail():
        called.append((0, threading.current_thread(), callbacks.current))
        raise ValueError("by design")

    callbacks.put(fail)
    for number in range(1, 50):
        callbacks.put(
            lambda number=number: called.append(
                (number, threading.current_thread(), callbacks.current)
            )
        )
    callbacks.put(callbacks.drain)  # In a callback it does not wait.
    callbacks.drain()
    assert [number for number, _, _ in called] == list(range(50))
    assert len({thread for _, thread, _ in called}) == 1
    assert all(current for _, _, current in called)
    assert not callbacks.current
    assert "callback.failed" in caplog.text
    callbacks.close()


def test_a_closed_thread_ends_behind_what_waits():
    callbacks, called, first = Callbacks(), [], threading.Event()

    def note():
        called.append(threading.current_thread())
        first.set()

    callbacks.put(note)
    callbacks.close()
    callbacks.close()
    assert first.wait(10)
    called[0].join(10)
    assert not called[0].is_alive()
    again = threading.Event()
    callbacks.put(again.set)  # A late one is called, too.
    assert again.wait(10)
    callbacks.close()
