"""The position of a query, held at the broker: by a subscription of its own, a named one, or none.

A query's own subscription goes by a name in its offsets (``offsets.py``), so it is the same one
after a restart, is shown in the query's progress, and never that of another checkpoint.
"""

import logging
import os
import signal
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from math import inf
from typing import Final

from magnetar.errors import MagnetarError
from magnetar.spark.connections import client_for
from magnetar.spark.offsets import SUBSCRIPTION, Offset, Offsets, from_json
from magnetar.spark.one_line import in_worker
from magnetar.spark.read_options import NO_SUBSCRIPTION, ReadOptions
from magnetar.spark.retaining_subscription import RetainingSubscription
from magnetar.spark.topics import offset_of

log = logging.getLogger(__name__)

BACKLOG_ASKED_EVERY_S: Final = 1.0
"""The backlog is shown for who looks on: no micro-batch waits for it more often."""


class HeldPosition:
    """Which subscription a planner holds. Makes none before it knows where the query is."""

    def __init__(self, options: ReadOptions, now: Callable[[], float] = time.monotonic) -> None:
        self._options = options
        self._known = False  # Whether there is one at all, and which, was decided.
        self._held: RetainingSubscription | None = None
        self._unlogged = False  # The checkpoint does not name it: who starts again makes another.
        self.own_name: str | None = None
        self._now = now
        self._backlog: dict[str, int] = {}
        self._asked_at = -inf

    def begin(self) -> str | None:
        """A new query: the name of a subscription of its own, which it gets when it goes on."""
        if self._options.subscription is None and self.own_name is None:
            self.own_name = f"{self._options.subscription_prefix}-{uuid.uuid4().hex[:12]}"
            self._unlogged = True
            _when_ended(self.stop)
        return self.own_name

    def resume(self, told: Mapping[str, str]) -> None:
        """``told``: what the checkpoint says up to where everything was done."""
        if not self._known:
            self._decide(told.get(SUBSCRIPTION), from_json(told))

    def logged(self) -> None:
        """The checkpoint has an offset with the name."""
        if self._unlogged:
            self._unlogged = False
            _when_ended(None)

    def hold(self, topics: Iterable[str]) -> None:
        """Topics may be added while a query runs."""
        if self._held is not None:
            self._held.hold(topics)

    def move(self, offsets: Offsets) -> None:
        """Everything up to ``offsets`` is done for good."""
        if self._held is not None:
            self._held.move(offsets)

    def last_offsets(self, topics: Iterable[str]) -> dict[str, Offset | None]:
        """The last message of each topic that is held: asked of the subscription, which is there.

        One that was deleted is left out.
        """
        if self._held is None:
            return {}
        found = self._held.last_message_ids(topics)
        return {topic: offset_of(last) for topic, last in found.items()}

    def backlog(self) -> dict[str, int]:
        """How many entries the subscription holds, by topic; as they were up to a second ago."""
        now = self._now()
        if self._held is not None and now - self._asked_at >= BACKLOG_ASKED_EVERY_S:
            self._backlog, self._asked_at = self._held.backlog(), now
        return self._backlog

    def stop(self) -> None:
        """Disconnect. What no later start of the query would find is removed."""
        if self._held is not None:
            if self._unlogged:
                self._held.remove()
            else:
                self._held.close()

    def _decide(self, in_checkpoint: str | None, offsets: Offsets) -> None:
        if self._known:
            return
        wanted = self._options.subscription
        if wanted is None:
            self.own_name = in_checkpoint or self.begin()
        if wanted == NO_SUBSCRIPTION:
            log.warning(
                "spark.position_not_held: with subscription=none the broker may trim messages "
                "before they are read, at a restart too; the query then fails"
            )
        else:
            self._held = self._subscription(self.own_name or str(wanted))
            self._held.move(offsets)
        if in_checkpoint is not None and wanted is not None:
            former = self._subscription(in_checkpoint)
            former.move(offsets)
            former.remove()
            log.warning("spark.own_subscription_removed name=%s", in_checkpoint)
        self._known = True

    def _subscription(self, name: str) -> RetainingSubscription:
        timeout_s = self._options.timeout_s
        client = client_for(self._options)
        return RetainingSubscription(
            client,
            name,
            busy_timeout_s=timeout_s,
            topics_may_go=not self._options.fail_on_data_loss,
        )


def _when_ended(stop: Callable[[], None] | None) -> None:
    """Have ``stop`` called when Spark ends its worker, which it does by a signal."""
    if in_worker():
        signal.signal(signal.SIGTERM, signal.SIG_DFL if stop is None else partial(_end, stop))


def _end(stop: Callable[[], None], *_signal: object) -> None:
    with suppress(MagnetarError):
        stop()
    os._exit(0)  # Spark no longer listens.
