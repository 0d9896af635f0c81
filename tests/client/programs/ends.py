"""A process that ends with a client still open: ``ends.py SERVICE_URL TOPIC HOW``.

``gone``: it waits for a line on its standard input first, when its broker has gone.
"""

import atexit
import sys
import threading

from magnetar.client import blocking, loop_thread
from magnetar.errors import AlreadyClosed

MESSAGES = 2_500


def pending(client, topic):
    producer = client.create_producer(topic)
    for number in range(MESSAGES):
        producer.send_nowait(b"%d" % number)


def threads(client, topic):
    """Threads that are daemons wait for what never comes; one that is none ends by itself."""
    consumer = client.subscribe(topic, "s")
    waiting = threading.Event()

    def wait():
        waiting.set()
        for _ in consumer:
            pass

    threading.Thread(target=wait, daemon=True).start()
    threading.Thread(target=pending, args=(client, topic)).start()
    waiting.wait()


def late(client, topic):
    """What runs at the end after our own part of it is told so, and does not hang."""
    pending(client, topic)
    consumer = client.subscribe(topic, "s")

    def use():
        try:
            consumer.receive()
        except AlreadyClosed as error:
            print(error)
        consumer.close()

    atexit._clear()  # What is registered first is called last.
    atexit.register(use)
    atexit.register(loop_thread._at_exit)


def gone(client, topic):
    loop_thread.EXIT_S = 0.5
    producer = client.create_producer(topic, batch_delay_s=60)
    client.subscribe(topic, "s")
    producer.send_nowait(b"lost")
    print("ready", flush=True)
    sys.stdin.readline()


def exits(client, topic):
    with client, client.create_producer(topic, batch_delay_s=60) as producer:
        for number in range(MESSAGES):
            producer.send_nowait(b"%d" % number)
        sys.exit(7)


def main(service_url, topic, how):
    client = blocking.Client(service_url)
    {"pending": pending, "threads": threads, "late": late, "gone": gone, "exits": exits}[how](
        client, topic
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
