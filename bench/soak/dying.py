"""A consumer that takes messages, acknowledges none, and waits to be killed.

python -m bench.soak.dying URL TOPIC SUBSCRIPTION
"""

import sys

import pulsar

from .official import open_client


def main(url: str, topic: str, subscription: str) -> None:
    consumer = open_client(url).subscribe(
        topic, subscription, consumer_type=pulsar.ConsumerType.Shared
    )
    while True:
        consumer.receive()


if __name__ == "__main__":
    main(*sys.argv[1:])
