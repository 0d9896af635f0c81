"""The same without asyncio: for scripts, threads, and code that cannot wait otherwise.

Start a broker first (``magnetar standalone``), then: ``python examples/blocking.py``
"""

import sys

from magnetar.client import blocking


def main(service_url: str, topic: str) -> None:
    with blocking.Client(service_url) as client:
        with client.create_producer(topic) as producer:
            ids = producer.send_many([b"%d" % number for number in range(100)])

        # A reader goes through a topic without a subscription; here from the 51st message on.
        with client.create_reader(topic, ids[50], inclusive=True) as reader:
            total = 0
            while reader.has_message_available():
                total += sum(int(message.data) for message in reader.receive_many())
        print(f"50 + 51 + ... + 99 = {total}")


if __name__ == "__main__":
    url = sys.argv[1] if len(sys.argv) > 1 else "pulsar://localhost:6650"
    main(url, sys.argv[2] if len(sys.argv) > 2 else "blocking-example")
