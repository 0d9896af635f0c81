"""Ctrl-C at random moments of every blocking call: ``interrupted.py SERVICE_URL TOPIC WHAT``.

A thread sends SIGINT to this process after a random time, since any moment may be the wrong one,
and once each time that the main thread is ready for it. Prints how many interruptions there were.
"""

import os
import random
import signal
import sys
import threading
import time
from contextlib import suppress
from itertools import count

from magnetar import InitialPosition
from magnetar.client import blocking
from magnetar.errors import AlreadyClosed, Conflict

INTERRUPTIONS = 120
WAIT_MAX_S = 0.002
SWALLOWED_S = (
    10.0  # An interruption that has not come out by then: Python ignored it in a finalizer.
)

ready, out = threading.Event(), threading.Event()
seed = time.time_ns()
chance = random.Random(seed)
interrupted = count(1)


def interrupt():
    while True:
        ready.wait()
        ready.clear()
        out.clear()
        sent = False
        while not sent or not out.wait(SWALLOWED_S):
            time.sleep(chance.uniform(0, WAIT_MAX_S))
            os.kill(os.getpid(), signal.SIGINT)
            sent = True


def until_interrupted(work):
    """Repeat ``work`` until an interruption comes out of it."""
    try:
        ready.set()
        while True:
            work()
    except KeyboardInterrupt:
        out.set()
        next(interrupted)


def received(client, topic):
    """What an interrupted call has taken is not lost, and comes next."""
    sources = {
        kind: client.subscribe(topic, kind, initial_position=InitialPosition.EARLIEST)
        for kind in ("receive", "receive_many", "iterate")
    }
    sources["reader"] = client.create_reader(topic)
    numbers = count()
    producer = client.create_producer(topic)

    def feed():
        with suppress(AlreadyClosed):  # The client is closed at the end.
            while True:
                producer.send_many([b"%d" % next(numbers) for _ in range(20)])
                time.sleep(0.001)  # So that some calls wait for a message, and others find one.

    threading.Thread(target=feed, daemon=True).start()

    def iterate(source, got):
        for message in source:
            got.append(message)

    for kind, source in sources.items():
        got = []
        work = {
            "receive": lambda source=source, keep=got.append: keep(source.receive(20)),
            "receive_many": lambda source=source, keep=got.extend: keep(source.receive_many(3, 20)),
            "iterate": lambda source=source, got=got: iterate(source, got),
            "reader": lambda source=source, keep=got.append: keep(source.receive(20)),
        }[kind]
        interruptions = 0
        while interruptions < INTERRUPTIONS or len(got) < INTERRUPTIONS:  # Messages may be slow.
            until_interrupted(work)
            interruptions += 1
        found = [int(message.data) for message in got]
        assert found == list(range(len(found))), f"{kind}: {found[:100]}"


def sent(client, topic):
    """What a call said that it has sent is stored, and every later call still sends."""
    producer = client.create_producer(topic)
    told, number = [], count()

    def send():
        value = b"%d" % next(number)
        producer.send(value)
        told.append(value)

    def hand_over():
        producer.send_nowait(b"%d" % next(number))
        producer.submit(b"%d" % next(number))
        producer.enqueue([b"%d" % next(number)])
        producer.flush()

    for _ in range(INTERRUPTIONS):
        until_interrupted(send)
        until_interrupted(hand_over)
        value = b"%d" % next(number)
        receipt = producer.submit(value)
        producer.flush()
        assert receipt.done()
        told.append(value)
    stored = []
    with client.create_reader(topic) as reader:
        while reader.has_message_available():
            stored += [message.data for message in reader.receive_many(1000, 20)]
    assert set(told) <= set(stored), sorted(set(told) - set(stored))
    assert [int(value) for value in stored] == sorted(map(int, stored))


def made(client, topic):
    """What was made for an interrupted call is not attached, and a close goes on to its end."""
    for make in (
        lambda: client.create_producer(topic, name="only"),
        lambda: client.subscribe(topic, "only"),
        lambda: client.create_reader(topic),
    ):

        def open_and_close(make=make):
            try:
                made = make()
            except Conflict:  # The one before is still being closed.
                return
            made.close()

        for _ in range(INTERRUPTIONS):
            until_interrupted(open_and_close)
    give_up = time.monotonic() + 20
    while True:
        try:
            client.create_producer(topic, name="only")
            client.subscribe(topic, "only")
        except Conflict:
            assert time.monotonic() < give_up, "something is attached for ever"
        else:
            return


def main(service_url, topic, what):
    print(f"seed {seed}", file=sys.stderr)
    threading.Thread(target=interrupt, daemon=True).start()
    begun = time.monotonic()
    with blocking.Client(service_url) as client:
        {"received": received, "sent": sent, "made": made}[what](client, topic)
        print(next(interrupted) - 1, f"{time.monotonic() - begun:.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
