"""Looks at a broker as an operator does, when it is told to: with a console, and Prometheus.

    python -m bench.looker WEB_URL TOPIC [nobody]

For each line ``on`` it listens to the events of a topic and scrapes metrics each second, and for
``off`` it does neither. It answers with the same word once that holds, and at the end with how long
scrapes took. What it reads it drops. With ``nobody`` it only answers.
"""

import http.client
import os
import sys
import threading
import time
from urllib.parse import urlsplit

PERIOD_S = 1.0
PIECE = 1 << 20


class Looker:
    """Two threads that work while they may."""

    def __init__(self, web_url: str, topic: str) -> None:
        self._place = urlsplit(web_url).netloc
        self._events = f"/admin/v2/magnetar/events?topic={topic}"
        self._on = threading.Event()
        self._changed = threading.Semaphore(0)
        self.scrapes: list[float] = []
        for work in (self._listen, self._scrape):
            threading.Thread(target=self._turns, args=(work,), daemon=True).start()

    def turn(self, *, on: bool) -> None:
        """Return when both look, or neither does."""
        if on is self._on.is_set():
            return
        if on:
            self._on.set()
        else:
            self._on.clear()
        for _ in range(2):
            self._changed.acquire()

    def _turns(self, work: "threading._Target") -> None:
        while self._on.wait():
            self._changed.release()
            work()
            self._changed.release()

    def _listen(self) -> None:
        connection, answer = self._get(self._events)
        while self._on.is_set() and answer.readline():
            pass
        connection.close()

    def _scrape(self) -> None:
        while self._on.is_set():
            began = time.monotonic()
            connection, answer = self._get("/metrics/")
            while answer.read(PIECE):
                pass
            connection.close()
            self.scrapes.append(time.monotonic() - began)
            time.sleep(max(PERIOD_S - self.scrapes[-1], 0))

    def _get(self, path: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = http.client.HTTPConnection(self._place, timeout=60)
        connection.request("GET", path)
        answer = connection.getresponse()
        if answer.status != http.HTTPStatus.OK:
            print(f"{path} was answered with {answer.status}", file=sys.stderr, flush=True)
            os._exit(1)  # From a thread.
        return connection, answer


def main() -> None:
    web_url, topic, *nobody = sys.argv[1:]
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # As if it were elsewhere.
    looker = Looker(web_url, topic)
    for line in sys.stdin:
        if not nobody:
            looker.turn(on=line.strip() == "on")
        print(line.strip(), flush=True)
    if took := sorted(looker.scrapes):
        print(f"{len(took)} scrapes, half of them in {took[len(took) // 2]:.3f} s")


if __name__ == "__main__":
    main()
