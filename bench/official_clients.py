"""Throughput of the official Python client: producers in processes of their own, as they come.

    python -m bench.official_clients URL TOPIC PRODUCERS SIZE VARY

One such process is started for each four producers. Each producer sends without waiting, with the
client's default settings, but that a full queue blocks it. A process prints how many sends were
answered until now, ten times a second; what the clients take of the processors is the generator's
share.
"""

import os
import random
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from typing import IO, Self

import psutil

from .broker import Broker
from .cases import Case
from .closed_loop import Throughput

PER_PROCESS = 4
REPORT_S = 0.1
SENT_MAX = 50_000_000  # Of one process: it ends by itself whatever happens.
STOP_TIMEOUT_S = 20


class OfficialClients:
    """One run of a case with ``official`` producers, all of one topic."""

    def __init__(self, broker: Broker, case: Case) -> None:
        self._broker = broker
        self._case = case
        self.topics = [f"persistent://public/default/official-{time.time_ns()}"]
        self._stack = ExitStack()
        self._clients = [
            self._stack.enter_context(_Client(broker, case, self.topics[0]))
            for _ in range(case.official // PER_PROCESS)
        ]

    def run(self) -> Throughput:
        """Warm up, measure; the clients are ended by ``close``."""
        for client in self._clients:
            client.first_answer.wait(STOP_TIMEOUT_S)
        time.sleep(self._case.warm_up_s)
        before = self._mark()
        time.sleep(self._case.seconds)
        after = self._mark()
        seconds, entries, user, kernel, clients = (
            late - early for early, late in zip(before, after, strict=True)
        )
        return Throughput(
            entries_per_s=entries / seconds,
            messages_per_s=entries / seconds,
            deliveries_per_s=0.0,
            mb_per_s=entries * self._case.size / seconds / 1e6,
            broker_cpu_us=(user + kernel) / max(entries, 1) * 1e6,
            kernel_us=kernel / max(entries, 1) * 1e6,
            broker_cpu_share=(user + kernel) / seconds,
            generator_cpu_share=clients / seconds,
            memory_mb=self._broker.memory_mb(),
        )

    def close(self) -> None:
        self._stack.close()
        self._broker.delete_topics(self.topics)

    def _mark(self) -> tuple[float, ...]:
        """Now, sends answered, CPU of the broker in its program and in the kernel, of clients."""
        return (
            time.perf_counter(),
            sum(client.answered for client in self._clients),
            *self._broker.cpu_times_s(),
            sum(client.cpu_s() for client in self._clients),
        )


class _Client:
    """A process with producers, and what it says."""

    def __init__(self, broker: Broker, case: Case, topic: str) -> None:
        self._command = [sys.executable, "-m", "bench.official_clients", broker.url, topic]
        self._command += [str(PER_PROCESS), str(case.size), str(case.vary)]
        self.answered = 0
        self.first_answer = threading.Event()

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ,
        )
        assert self._process.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,))
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def cpu_s(self) -> float:
        times = psutil.Process(self._process.pid).cpu_times()
        return float(times.user + times.system)

    def _read(self, lines: IO[str]) -> None:
        with lines:
            for line in lines:
                self.answered = int(line)
                self.first_answer.set()


def send(url: str, topic: str, producers: int, size: int, vary: int) -> None:
    """What each process does, until it is killed."""
    import pulsar  # noqa: PLC0415 - only these processes need it

    client = pulsar.Client(url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    made = [client.create_producer(topic, block_if_queue_full=True) for _ in range(producers)]
    spread = size * vary // 100
    bodies = [b"x" * random.randint(size - spread, size + spread) for _ in range(1000)]
    answered = 0
    said = time.perf_counter()

    def on_answer(result: object, _: object) -> None:
        nonlocal answered
        assert result == pulsar.Result.Ok, result
        answered += 1

    for number in range(SENT_MAX):
        made[number % producers].send_async(bodies[number % len(bodies)], on_answer)
        if number % 64 == 0 and time.perf_counter() - said > REPORT_S:
            said = time.perf_counter()
            print(answered, flush=True)


if __name__ == "__main__":
    send(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
