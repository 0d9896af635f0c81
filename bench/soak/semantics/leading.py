"""A process that writes to a topic while it is its only writer, and waits when it is not.

python -m bench.soak.semantics.leading URL TOPIC NAME

It says on its standard output what was answered: a writer and a number. Whenever it has lost the
topic it waits for its turn again, as another writer.
"""

import sys
import time
from itertools import count

import pulsar

from bench.soak.official import open_client

PAUSE_S = 0.05


def main(url: str, topic: str, name: str) -> None:
    client = open_client(url)
    for turn in count():
        writer = f"{name}-{turn}"
        try:
            producer = client.create_producer(
                topic,
                writer,
                access_mode=pulsar.ProducerAccessMode.WaitForExclusive,
                send_timeout_millis=10_000,
            )
            for number in count():
                producer.send(f"{writer} {number}".encode())
                print(writer, number, flush=True)
                time.sleep(PAUSE_S)
        except pulsar.PulsarException:
            time.sleep(PAUSE_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
