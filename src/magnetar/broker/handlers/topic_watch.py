"""WATCH_TOPIC_LIST: tells a client which topics of a namespace come and go."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Final

from magnetar.broker.plain_patterns import PATTERN_LENGTH_MAX, TopicPattern
from magnetar.broker.session import Session
from magnetar.broker.topic_watches import NamespaceTopics, TopicWatches
from magnetar.errors import (
    InvalidName,
    InvalidValue,
    LimitReached,
    NotAllowed,
    NotReady,
    UnexpectedCommand,
)
from magnetar.late_dataclass import dataclass
from magnetar.model.hashing import topics_hash
from magnetar.model.names import NamespaceName, TopicName
from magnetar.wire import replies
from magnetar.wire.commands import CommandWatchTopicList, CommandWatchTopicListClose

from .client_authorization import OFF, ClientAuthorization

WATCHERS_MAX: Final = 1_000  # Of one connection.


@dataclass(slots=True, eq=False)
class TopicWatchHandler:
    """Begins and ends the watchers of clients."""

    watches: TopicWatches
    _: KW_ONLY
    enabled: bool = True
    authorization: ClientAuthorization = OFF

    async def on_watch(self, session: Session, command: CommandWatchTopicList) -> None:
        if not self.enabled:
            raise NotAllowed("Topic list watchers are off (enableBrokerTopicListWatcher=false)")
        try:
            namespace = NamespaceName.parse(command.namespace)
        except InvalidName as error:
            raise UnexpectedCommand(f"WATCH_TOPIC_LIST: {error}") from None
        await self.authorization.watch_topics(session, namespace)
        pattern = _pattern(command.topics_pattern)
        if session.watchers is None:
            session.watchers = {}
        self._end(session, command.watcher_id)
        if len(session.watchers) >= WATCHERS_MAX:
            raise LimitReached(f"a connection has at most {WATCHERS_MAX} topic list watchers")
        watcher = _Watcher(session, command.watcher_id, namespace, pattern)
        session.watchers[command.watcher_id] = watcher
        try:
            watcher.topics = await self.watches.begin(namespace, watcher.changed)
        except BaseException:
            if session.watchers.get(command.watcher_id) is watcher:
                del session.watchers[command.watcher_id]
            raise
        watcher.watches = self.watches
        if watcher.ended:
            watcher.end()
            raise NotReady(f"watcher {command.watcher_id} was ended before it had begun")
        names = watcher.names()
        known = topics_hash(names)
        shown = [] if known == command.topics_hash else names
        session.reply(
            replies.watch_topic_list_success(
                command.request_id, command.watcher_id, shown, topics_hash=known
            )
        )

    def on_close(self, session: Session, command: CommandWatchTopicListClose) -> None:
        """Closing a watcher that does not exist succeeds, as in Pulsar."""
        self._end(session, command.watcher_id)
        session.reply(replies.success(command.request_id))

    @staticmethod
    def _end(session: Session, watcher_id: int) -> None:
        watcher = (session.watchers or {}).pop(watcher_id, None)
        if watcher is not None:
            watcher.end()


class _Watcher:
    """One watcher of one client. What changes while the client does not read is told together."""

    def __init__(
        self, session: Session, watcher_id: int, namespace: NamespaceName, pattern: TopicPattern
    ) -> None:
        self.namespace = namespace
        self.topics: NamespaceTopics | None = None  # Not before it has begun.
        self.watches: TopicWatches | None = None
        self.ended = False
        self._session = session
        self._id = watcher_id
        self._pattern = pattern
        self._untold: dict[str, bool] = {}  # Whether each of them came, or went.
        self._waiting = False

    def names(self) -> list[str]:
        """The topics that match, sorted."""
        found = self.topics.topics if self.topics is not None else ()
        return sorted(str(topic) for topic in found if self._pattern.matches(topic))

    def end(self) -> None:
        """It may be called again."""
        self.ended = True
        watches, self.watches = self.watches, None
        if self.topics is not None and watches is not None:
            watches.end(self.topics, self.changed)

    def changed(self, came: Sequence[TopicName], went: Sequence[TopicName]) -> None:
        if self.topics is None:
            return  # It will be in the first list.
        for topics, here in ((came, True), (went, False)):
            self._untold |= {str(each): here for each in topics if self._pattern.matches(each)}
        if self._untold and not self._waiting:
            if self._session.writable:
                self._tell()
            else:
                self._waiting = True
                self._session.when_writable(self._tell)

    def _tell(self) -> None:
        self._waiting = False
        untold, self._untold = self._untold, {}
        if not self.ended:
            self._session.reply(
                replies.watch_topic_update(
                    self._id,
                    [name for name, here in untold.items() if here],
                    [name for name, here in untold.items() if not here],
                    topics_hash=topics_hash(self.names()),
                )
            )


def _pattern(text: str) -> TopicPattern:
    if len(text) > PATTERN_LENGTH_MAX:
        raise NotAllowed(
            "Unable to create topic list watcher: Pattern longer than maximum: "
            f"{PATTERN_LENGTH_MAX}"
        )
    try:
        pattern = TopicPattern.of(text)
    except InvalidValue as error:
        raise InvalidName(str(error)) from None
    if pattern is None:
        raise NotAllowed(
            f"Unable to create topic list watcher: only plain patterns are matched here, not "
            f"{text!r}: poll GET_TOPICS_OF_NAMESPACE and match them yourself"
        )
    return pattern
