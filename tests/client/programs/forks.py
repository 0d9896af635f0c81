"""A process that forks with a client open: ``forks.py SERVICE_URL TOPIC HOW``."""

import asyncio
import multiprocessing
import os
import sys

from magnetar import Client, InitialPosition, SubscriptionType
from magnetar.client import blocking
from magnetar.errors import AlreadyClosed, NotAllowed

WORKERS = 3


def child(work):
    """Fork, and have the child leave as programs do: by SystemExit, through everything around."""
    pid = os.fork()
    if not pid:
        work()
        sys.exit(7)
    return pid


def ended(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def workers(service_url, topic):
    """As a server that forks its workers: all use what was made before, the parent too."""
    with (
        blocking.Client(service_url) as client,
        client.create_producer(topic, batch_delay_s=60) as producer,
        client.subscribe(topic, "s", type=SubscriptionType.SHARED) as consumer,
    ):
        producer.send(b"parent before")
        for number in range(100):
            producer.send_nowait(b"pending %d" % number)

        def work(number):
            producer.send(b"child %d" % number)
            assert producer.connected
            consumer.receive_many(1, 0.01)

        children = [child(lambda number=number: work(number)) for number in range(WORKERS)]
        print(*map(ended, children))
        print(producer.connected, consumer.connected)
        producer.send(b"parent after")


def closes(service_url, topic):
    """Closing in the child does nothing to the parent's, and ends the child's use of it."""
    with blocking.Client(service_url) as client:
        producer = client.create_producer(topic, name="only")
        consumer = client.subscribe(topic, "s")

        def work():
            consumer.close()
            client.close()
            for use in (consumer.receive, lambda: producer.send(b"x")):
                try:
                    use()
                except AlreadyClosed as error:
                    print(type(error).__name__, flush=True)

        print(ended(child(work)))
        producer.send(b"parent")
        print(consumer.receive(5).data)


def _send(arguments):
    service_url, topic, number = arguments
    with blocking.Client(service_url) as client, client.create_producer(topic) as producer:
        producer.send(b"child %d" % number)
    return number


def _send_with_inherited(number):
    inherited.send(b"child %d" % number)
    return number


inherited = None


def pools(service_url, topic):
    """Workers of multiprocessing, forked and spawned."""
    global inherited  # noqa: PLW0603 - this is how forked workers get it.
    with blocking.Client(service_url) as client:
        inherited = client.create_producer(topic)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(sorted(pool.map(_send_with_inherited, range(WORKERS))))
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(sorted(pool.map(_send, [(service_url, topic, n) for n in range(WORKERS)])))
        inherited.send(b"parent after")


def asyncio_client(service_url, topic):
    """The asyncio client belongs to its loop, which the child does not have."""

    async def make():
        client = Client(service_url)
        return client, await client.create_producer(topic)

    async def use(producer):
        try:
            await producer.send(b"x")
        except NotAllowed as error:
            print(error, flush=True)

    with asyncio.Runner() as runner:
        client, producer = runner.run(make())

        def work():
            asyncio.run(use(producer))
            os._exit(7)  # Leaving the runner would close the parent's loop.

        print(ended(child(work)))
        runner.run(client.__aexit__())


def main(service_url, topic, how):
    {"workers": workers, "closes": closes, "pools": pools, "asyncio_client": asyncio_client}[how](
        service_url, topic
    )
    with blocking.Client(service_url) as client:
        reader = client.subscribe(topic, "all", initial_position=InitialPosition.EARLIEST)
        stored = []
        while reader.has_message_available():
            stored += [message.data.decode() for message in reader.receive_many(1000, 5)]
    print("stored", len(stored), len(set(stored)))


if __name__ == "__main__":
    main(*sys.argv[1:])
