"""Load by the official client: threads, listeners, a client and so a connection for each flow."""

import itertools
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any

import pulsar

from magnetar.model.subscriptions import SubscriptionType as Type

from .flows import SUBSCRIPTION, Flow
from .pace import TICK_S, Pace
from .tally import Stream, Tally

UPKEEP_S = 4.0  # So often something is renewed or sought, in each flow.
SEEK_BACK_S = 8.0
REFUSED_AGAIN_MS = 1000
SLOW_PAUSE_S = 0.2
DYING_LIFE_S = 12.0
OPERATION_TIMEOUT_S = 10
KINDS = {
    Type.EXCLUSIVE: pulsar.ConsumerType.Exclusive,
    Type.FAILOVER: pulsar.ConsumerType.Failover,
    Type.SHARED: pulsar.ConsumerType.Shared,
    Type.KEY_SHARED: pulsar.ConsumerType.KeyShared,
}


def open_client(url: str) -> Any:
    quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    if not sys.stderr.isatty():
        quiet = pulsar.FileLogger(pulsar.LoggerLevel.Error, "/dev/null")
    return pulsar.Client(url, logger=quiet, operation_timeout_seconds=OPERATION_TIMEOUT_S)


class OfficialFlow:
    """One flow. ``start``, ``stop_sending``, ``settled`` until it is, ``close``."""

    def __init__(self, flow: Flow, url: str, tally: Tally, seed: int) -> None:
        self.flow = flow
        self._url = url
        self._tally = tally
        self._chance = Random(seed)
        self._client = open_client(url)
        self._numbers = itertools.count()
        self._producers: dict[str, tuple[Any, Stream]] = {}
        # The client never answers a send that one thread begins while another closes the producer.
        self._sending = threading.Lock()
        self._consumers: dict[str, list[Any]] = {topic: [] for topic in flow.all_topics}
        # When the last message that came was published: seeking beyond it would leave some out.
        self._published_ms = dict.fromkeys(flow.all_topics, 0)
        self._child: subprocess.Popen[bytes] | None = None
        self._ended = threading.Event()
        self._closed = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        flow = self.flow
        for topic, consumers in self._consumers.items():
            for _ in range(flow.consumers):
                consumers.append(self._subscribe(topic))
        for topic in flow.all_topics:
            self._renew_producer(topic)
        self._spawn(self._produce)
        if flow.renewed or flow.seeks or flow.dying or flow.meddled:
            self._spawn(self._keep_up)
        if flow.slow:
            self._spawn(self._consume_slowly)

    def stop_sending(self) -> None:
        """No more messages, and nobody dies any more."""
        self._ended.set()
        if self._child:
            self._child.kill()
            self._child.wait()

    def close(self) -> None:
        self._closed.set()
        for thread in self._threads:
            thread.join(OPERATION_TIMEOUT_S)
        with suppress(pulsar.PulsarException):
            self._client.close()

    def _spawn(self, work: Any) -> None:
        thread = threading.Thread(target=work, name=f"{self.flow.name}-{work.__name__}")
        thread.daemon = True
        thread.start()
        self._threads.append(thread)

    # What features add; by default, nothing.

    def producer_options(self) -> dict[str, Any]:
        return {}

    def consumer_options(self) -> dict[str, Any]:
        return {}

    def send_options(self, stream: Stream, number: int) -> dict[str, Any]:
        return {}

    def content(self, stream: Stream, number: int) -> Any:
        return stream.body(number)

    def data(self, message: Any) -> bytes:
        return bytes(message.data())

    def refuses(self, message: Any, number: int) -> bool:
        return self._chance.random() < self.flow.refused_share

    def acknowledge(self, consumer: Any, message: Any) -> None:
        consumer.acknowledge(message)

    def new_stream(self, name: str) -> Stream:
        flow = self.flow
        return self._tally.stream(
            name, flow.sizes, {SUBSCRIPTION: flow.ordered}, lanes=flow.lanes, lossy=flow.lossy
        )

    def meddle(self) -> None:
        """Now and then, where the flow is meddled with."""

    # Producing.

    def _renew_producer(self, topic: str) -> None:
        """The old one is flushed and closed; another with a stream of its own takes its place."""
        flow = self.flow
        with self._sending:
            producer, _ = self._producers.pop(topic, (None, None))
        if producer is not None:
            producer.flush()
            producer.close()
        producer = self._client.create_producer(
            topic,
            batching_enabled=flow.batching,
            batching_max_publish_delay_ms=20,
            batching_type=(
                pulsar.BatchingType.KeyBased if flow.lanes > 1 else pulsar.BatchingType.Default
            ),
            chunking_enabled=flow.chunking,
            compression_type=(
                pulsar.CompressionType.LZ4 if flow.compressed else pulsar.CompressionType.NONE
            ),
            **self.producer_options(),
        )
        stream = self.new_stream(f"{topic.rpartition('/')[2]}.{next(self._numbers)}")
        self._producers[topic] = producer, stream

    def _produce(self) -> None:
        pace = Pace(self.flow, time.monotonic())
        while not self._ended.wait(TICK_S):
            pace.send_due(time.monotonic(), self._send)

    def _send(self, topic: str) -> bool:
        with self._sending:
            return self._send_one(topic)

    def _send_one(self, topic: str) -> bool:
        producer, stream = self._producers.get(topic, (None, None))
        if producer is None or stream is None:
            return False  # It is being renewed.
        number = stream.sent
        options = {"partition_key": stream.key(number)} if stream.lanes > 1 else {}
        options |= self.send_options(stream, number)
        try:
            producer.send_async(
                self.content(stream, number), partial(self._answer, stream, number), **options
            )
        except pulsar.PulsarException as error:
            self._tally.expected(f"send: {type(error).__name__}")
            return False
        stream.sent = number + 1
        return True

    def _answer(self, stream: Stream, number: int, result: Any, _: Any) -> None:
        if result == pulsar.Result.Ok:
            stream.on_answer(number)
        else:
            stream.failed += 1
            self._tally.expected(f"send answered: {result.name}")

    # Consuming.

    def _subscribe(self, topic: str, **options: Any) -> Any:
        options.setdefault("message_listener", self._take)
        return self._client.subscribe(
            topic,
            SUBSCRIPTION,
            consumer_type=KINDS[self.flow.type],
            initial_position=pulsar.InitialPosition.Earliest,
            negative_ack_redelivery_delay_ms=REFUSED_AGAIN_MS,
            **self.consumer_options(),
            **options,
        )

    def _take(self, consumer: Any, message: Any) -> None:
        taken = self._tally.take(SUBSCRIPTION, self.data(message), message.topic_name())
        if taken is None:
            return
        self._published_ms[message.topic_name()] = message.publish_timestamp()
        try:
            if self.refuses(message, taken[1]):
                consumer.negative_acknowledge(message)
                self._tally.did("negative acknowledgements")
            else:
                self.acknowledge(consumer, message)
                self._tally.on_acknowledgement(SUBSCRIPTION, *taken)
        except pulsar.PulsarException:
            self._tally.expected("acknowledge")

    def _consume_slowly(self) -> None:
        topic = self.flow.topic(0)
        consumer = self._subscribe(topic, message_listener=None, receiver_queue_size=5)
        while not self._closed.wait(SLOW_PAUSE_S):
            try:
                self._take(consumer, consumer.receive(500))
            except pulsar.PulsarException:
                continue

    # What goes on beside.

    def _keep_up(self) -> None:
        child_until = 0.0
        while not self._ended.wait(self._chance.uniform(0.5, 1.5) * UPKEEP_S):
            topic = self._chance.choice(self.flow.all_topics)
            try:
                if self.flow.seeks and self._published_ms[topic]:
                    back_ms = int(self._chance.uniform(0, SEEK_BACK_S) * 1000)
                    self._consumers[topic][0].seek(self._published_ms[topic] - back_ms)
                    self._tally.did("seeks")
                elif self.flow.meddled:
                    self.meddle()
                elif self.flow.renewed and self._chance.random() < 0.3:
                    self._renew_producer(topic)
                elif self.flow.renewed:
                    self._renew_consumer(topic)
            except pulsar.PulsarException as error:
                self._tally.expected(f"upkeep: {type(error).__name__}")
            self._mend()
            if self.flow.dying and time.monotonic() > child_until:
                self._replace_child()
                child_until = time.monotonic() + DYING_LIFE_S
        self._mend()

    def _renew_consumer(self, topic: str) -> None:
        consumers = self._consumers[topic]
        consumers.pop(self._chance.randrange(len(consumers))).close()
        consumers.append(self._subscribe(topic))
        self._tally.did("consumers renewed")

    def _mend(self) -> None:
        """Put back what could not be renewed, the broker being away."""
        with suppress(pulsar.PulsarException):
            for topic, consumers in self._consumers.items():
                if topic not in self._producers:
                    self._renew_producer(topic)
                if len(consumers) < self.flow.consumers:
                    consumers.append(self._subscribe(topic))

    def _replace_child(self) -> None:
        if self._child:
            self._child.kill()
            self._child.wait()
            self._tally.did("consumers killed")
        command = [sys.executable, "-m", "bench.soak.dying", self._url]
        command += [self.flow.all_topics[-1], SUBSCRIPTION]
        self._child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
