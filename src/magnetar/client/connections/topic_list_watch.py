"""Which topics of a namespace come and go, as a broker tells it."""

from collections.abc import Callable
from functools import partial
from typing import Final

from magnetar.errors import MagnetarError, NotAllowed
from magnetar.wire import requests
from magnetar.wire.frames import Frame

from .connection import Connection

TOLD_MAX: Final = 10_000  # Topics that came or went and were not taken: beyond, list them again.


class TopicListWatch:
    """Watches over one connection at a time. Brokers tell of persistent topics only."""

    stale: bool  # What happens is not told, or not all of it: list the topics.

    def __init__(
        self, watcher_id: int, namespace: str, pattern: str, changed: Callable[[], None]
    ) -> None:
        """``changed`` is called when there is something to ``take``, or it has become stale."""
        self.stale = True
        self._id = watcher_id
        self._begin_request = partial(
            requests.watch_topic_list,
            watcher_id=watcher_id,
            namespace=namespace,
            pattern=pattern,
        )
        self._end_request = partial(requests.watch_topic_list_close, watcher_id)
        self._changed = changed
        self._connection: Connection | None = None
        self._told: dict[str, bool] = {}  # Whether each of them came, or went.

    async def begin(self, connection: Connection, timeout_s: float) -> None:
        """Watch anew. Raises NotAllowed where the broker cannot, its error, or TimedOut."""
        self.end()
        if not connection.supports_topic_watchers:
            raise NotAllowed("the broker has no watchers of topics")
        connection.watchers[self._id] = self
        self._connection = connection
        self._told.clear()
        self.stale = False
        try:
            await connection.request(self._begin_request, timeout_s)
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Watch no longer."""
        connection, self._connection = self._connection, None
        self.stale = True
        if connection is not None:
            connection.detach(connection.watchers, self._id, self._end_request)

    def take(self) -> dict[str, bool]:
        """Take the topics that came (True) and went since the last time, in order."""
        told, self._told = self._told, {}
        return told

    def on_topics(self, frame: Frame) -> None:
        update = frame.command.watchTopicUpdate
        for names, here in ((update.new_topics, True), (update.deleted_topics, False)):
            self._told |= dict.fromkeys(names, here)
        if len(self._told) > TOLD_MAX:
            self._told.clear()
            self.stale = True
        self._changed()

    def on_detached(self, connection: Connection, error: MagnetarError | None) -> None:
        if connection is self._connection:
            self._connection = None
            self.stale = True
            self._changed()
