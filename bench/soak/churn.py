"""Topics and subscriptions that come and go, and administrators who look and meddle: threads."""

import itertools
import threading
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pulsar

from .admin import Admin, Away, path_of
from .flows import NAMESPACE
from .official import KINDS, open_client
from .tally import Tally

CHURN_PAUSE_S = 0.3
MESSAGES_MAX = 40
RECEIVE_MS = 5000
META_PAUSE_S = 0.2
FINE = range(200, 300)


class Churn:
    """``start``, ``stop``, then ``delete_all``."""

    def __init__(self, url: str, web_url: str, tally: Tally, topics: list[str], seed: int) -> None:
        self._tally = tally
        self._topics = topics  # The flows', to be looked at and unloaded.
        self._chance = Random(seed)
        self._admin = Admin(web_url)
        self._client = open_client(url)
        self._numbers = itertools.count()
        self._partitioned: set[str] = set()
        self._ended = threading.Event()
        work: list[Callable[[], None]] = [self._short_life, self._look, self._meddle]
        self._threads = [
            threading.Thread(target=self._again_and_again, args=(each,), daemon=True)
            for each in work
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def close(self) -> None:
        with suppress(pulsar.PulsarException):
            self._client.close()

    def delete_leftovers(self) -> None:
        """Topics that a kill kept from being deleted. Raises Away."""
        for topic in self._partitioned:
            self._admin.delete(topic, partitioned=True)
        for topic in self._admin.topics():
            if "/short-" in topic:
                self._admin.delete(topic)

    def _again_and_again(self, work: Callable[[], None]) -> None:
        while not self._ended.wait(self._chance.uniform(0, 2) * CHURN_PAUSE_S):
            try:
                work()
            except (Away, pulsar.PulsarException) as error:
                self._tally.expected(f"churn: {type(error).__name__}")
            except Exception as error:  # noqa: BLE001 - The others go on; it counts.
                self._tally.complaints.add("churn", repr(error))

    def _short_life(self) -> None:
        """A topic is made, used by two subscriptions, and deleted."""
        chance = self._chance
        topic = f"persistent://{NAMESPACE}/short-{next(self._numbers)}"
        partitioned = chance.random() < 0.2
        if partitioned:
            self._partitioned.add(topic)
            self._admin.ask("PUT", f"{path_of(topic)}/partitions", 3)
        elif chance.random() < 0.5:
            self._admin.ask("PUT", path_of(topic))
        consumers = [
            self._client.subscribe(
                topic,
                name,
                consumer_type=chance.choice(list(KINDS.values())),
                initial_position=pulsar.InitialPosition.Earliest,
            )
            for name in ("first", "second")
        ]
        producer = self._client.create_producer(topic, batching_enabled=chance.random() < 0.5)
        self._tally.did("topics made and deleted")
        answered: list[int] = []

        def answer(number: int) -> Callable[[Any, Any], None]:
            def callback(result: Any, _: Any) -> None:
                if result == pulsar.Result.Ok:
                    answered.append(number)

            return callback

        for number in range(chance.randint(1, MESSAGES_MAX)):
            body = b"%d|" % number + bytes(chance.choice((10, 1000, 100_000)))
            producer.send_async(body, answer(number))
        producer.flush()
        for consumer in consumers:
            self._receive_all(consumer, set(answered), topic)
        consumers[0].unsubscribe()
        producer.close()
        consumers[1].close()
        status = self._admin.delete(topic, partitioned=partitioned)
        if status not in FINE:
            self._tally.expected(f"churn: delete answered {status}")
        else:
            self._partitioned.discard(topic)

    def _receive_all(self, consumer: Any, wanted: set[int], topic: str) -> None:
        """Everything that was answered comes; the second subscription leaves half behind."""
        keep = consumer.subscription_name() == "second"
        while wanted:
            message = consumer.receive(RECEIVE_MS)
            wanted.discard(int(message.data().partition(b"|")[0]))
            if not keep or self._chance.random() < 0.5:
                consumer.acknowledge(message)

    def _look(self) -> None:
        """What a dashboard asks."""
        path = path_of(self._chance.choice(self._topics))
        asked = self._chance.choice(
            (
                f"{path}/stats",
                f"{path}/internalStats",
                f"{path}/subscriptions",
                f"{path}/lastMessageId",
                f"{path}/partitions",
                f"/persistent/{NAMESPACE}",
                f"/namespaces/{NAMESPACE}/topics",
                "/brokers/health",
                "/tenants",
            )
        )
        self._tally.did("admin requests")
        status, answer = self._admin.ask("GET", asked)
        if status >= 500:
            self._tally.complaints.add("admin", f"GET {asked}: {status} {answer!r}")

    def _meddle(self) -> None:
        """A topic is unloaded, or a subscription made, moved and deleted. Every few seconds."""
        chance = self._chance
        if self._ended.wait(chance.uniform(1, 5)):
            return
        path = path_of(chance.choice(self._topics))
        self._tally.did("admin requests")
        if chance.random() < 0.5:
            self._expect("PUT", f"{path}/unload")
            self._tally.did("topics unloaded")
            return
        subscription = f"{path}/subscription/passing-{next(self._numbers)}"
        self._expect("PUT", subscription, chance.choice(("earliest", "latest")))
        self._tally.did("subscriptions made, moved and deleted")
        try:
            self._ended.wait(chance.uniform(0, 5))
            self._expect("POST", f"{subscription}/skip/{chance.randint(1, 20)}")
            self._expect("POST", f"{subscription}/resetcursor/0")
            self._expect("POST", f"{subscription}/skip_all")
        finally:
            self._delete_subscription(subscription)

    def _delete_subscription(self, path: str) -> None:
        """Until it is gone: it would keep messages for ever."""
        for _ in range(100):
            with suppress(Away):
                if self._admin.ask("DELETE", f"{path}?force=true")[0] in (*FINE, 404):
                    return
            threading.Event().wait(META_PAUSE_S)
        self._tally.complaints.add("admin", f"{path} cannot be deleted")

    def _expect(self, method: str, path: str, body: object = None) -> None:
        status, answer = self._admin.ask(method, path, body)
        if status >= 500:
            self._tally.complaints.add("admin", f"{method} {path}: {status} {answer!r}")
        elif status not in FINE:
            self._tally.expected(f"{method} answered {status}")
