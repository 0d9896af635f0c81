"""A process that wants to be the only writer of a topic: ``candidate.py URL TOPIC NAME``.

It says on its standard output what becomes of it: ``leads``, ``wrote`` after its first message, and
``lost`` with the error once it is the leader no more. It writes until then.
"""

import sys
import time

import pulsar


def main(url: str, topic: str, name: str) -> None:
    quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    client = pulsar.Client(url, logger=quiet)
    try:
        producer = client.create_producer(
            topic,
            name,
            access_mode=pulsar.ProducerAccessMode.WaitForExclusive,
            send_timeout_millis=10_000,
        )
        say("leads")
        number = 0
        while True:
            producer.send(f"{name} {number}".encode())
            if number == 0:
                say("wrote")
            number += 1
            time.sleep(0.002)
    except pulsar.PulsarException as error:
        say(f"lost {error}")
    client.close()


def say(what: str) -> None:
    print(what, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
