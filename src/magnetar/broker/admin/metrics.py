"""Metrics: a pass over all open topics, which gives way to others, and then the lines.

Nothing is computed before somebody asks, nor again what is as it was the last time.
"""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import chain
from typing import Final

from magnetar.broker.admin.exposition import END, ROWS_TOGETHER, MetricTable, lines
from magnetar.broker.admin.overview import PAUSE_S
from magnetar.broker.admin.scrapes import SumsOfRows
from magnetar.broker.admin.services import MetricServices
from magnetar.broker.admin.topic_metrics import METRICS, SUMMED, together
from magnetar.broker.admin.topic_rows import RowMaker, TopicRows
from magnetar.broker.threads import imported
from magnetar.broker.topics.log.backlog_limits import Backlogged
from magnetar.broker.topics.topic import StoredTopic, Topic
from magnetar.errors import MagnetarError
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.system_topics import is_system_topic

WORK_S: Final = 0.0005
"""Others get the event loop after so much work."""
PIECE_BYTES: Final = 64 * 1024
"""So much of the answer is written at once, and a little more."""
_BYTES_IN: Final = SUMMED.index["pulsar_in_bytes_total"]
_BYTES_OUT: Final = SUMMED.index["pulsar_out_bytes_total"]
_BROKER_METRICS: Final = "magnetar.broker.admin.broker_metrics"


async def answer(admin: MetricServices, accept: str) -> tuple[AsyncIterator[bytes], str]:
    """The metrics in the format that a client accepts, and its content type."""
    scrape = _Scrape(admin)
    await scrape.pass_topics()
    await admin.broker.health.disk()
    module = await imported(_BROKER_METRICS)
    seen = module.Seen(scrape.topics, scrape.sums, tuple(scrape.system_bytes), scrape.evictions)
    head, content_type = module.encoded(admin, seen, accept)
    end = END if "openmetrics" in content_type else b""
    return scrape.pieces(head, end), content_type


class _Scrape:
    """One answer in the making."""

    def __init__(self, admin: MetricServices) -> None:
        self._admin = admin
        self._clock = admin.broker.clock
        self._turn_began = admin.broker.clock.now()
        self.topics: dict[NamespaceName, int] = defaultdict(int)
        self.sums: dict[NamespaceName, Sequence[float]] = {}
        # Those that are not in the sums yet.
        self._rows: dict[NamespaceName, list[Sequence[float]]] = defaultdict(list)
        self._sums_of_rows: SumsOfRows = {}
        self.system_bytes = [0, 0]
        self.evictions = Counter[str]()  # Of all open topics, by the type of the quota.
        settings, loaded = admin.broker.metrics, len(admin.broker.topics.loaded)
        self._by_topic = settings.topics and not 0 < settings.topics_max < loaded
        self._maker = RowMaker(admin.broker.cluster, admin.rates, settings, by_topic=self._by_topic)
        self._tables = {kind: MetricTable(its.columns) for kind, its in METRICS.items()}

    async def pass_topics(self) -> None:
        """Note what all open topics have."""
        scrapes, loaded = self._admin.scrapes, self._admin.broker.topics.loaded
        known: set[tuple[str, str]] = set()
        for name, topic in list(loaded.items()):
            mark, its = self._maker.mark(name, topic), scrapes.rows.get(name)
            if mark is None or its is None or its.mark != mark:
                ages = await self._ages(topic)
                known.update((str(name), each) for each in ages)
                its = self._maker.make(name, topic, ages, mark)
                scrapes.keep(name, its)
            self._add(name, its)
            await self._give_way()
        for gone in scrapes.oldest.keys() - known:
            del scrapes.oldest[gone]
        for closed in [name for name in scrapes.rows if name not in loaded]:
            del scrapes.rows[closed]
        for namespace in list(self._rows):
            self._sum_up(namespace)
        scrapes.sums = self._sums_of_rows
        if not self._by_topic:
            for namespace, sums in self.sums.items():
                self._tables["summed"].add((self._maker.labels(namespace), sums))

    async def pieces(self, head: Iterable[bytes], end: bytes) -> AsyncIterator[bytes]:
        """The answer; ``head`` has the metrics of the broker.

        To write a piece costs more than to make most lines, so many go together.
        """
        waiting, size = [], 0
        lines_of_topics = lines(self._tables.values(), self._admin.scrapes.lines)
        for part in chain(head, lines_of_topics, (end,)):
            waiting.append(part)
            size += len(part)
            if size >= PIECE_BYTES:
                yield b"".join(waiting)
                waiting, size = [], 0
            await self._give_way()
        yield b"".join(waiting)

    def _add(self, name: TopicName, its: TopicRows) -> None:
        """Add what is told of a topic to the tables and the sums."""
        for kind, row in its.rows:
            self._tables[kind].add(row)
        namespace, summed = name.namespace, its.summed
        self.topics[namespace] += 1
        rows = self._rows[namespace]
        rows.append(summed)
        if len(rows) >= ROWS_TOGETHER:
            self._sum_up(namespace)
        if is_system_topic(name):
            self.system_bytes[0] += int(summed[_BYTES_IN])
            self.system_bytes[1] += int(summed[_BYTES_OUT])
        self.evictions["size"] += its.size_evictions
        self.evictions["time"] += its.age_evictions

    def _sum_up(self, namespace: NamespaceName) -> None:
        """Add the rows of a namespace to its sums. One at a time would take three times as long."""
        rows = self._rows.pop(namespace)
        place = (namespace, self.topics[namespace])
        known, sums = self._admin.scrapes.sums.get(place, ((), ()))
        if known != rows:
            sums = together(rows)
        self._sums_of_rows[place] = rows, sums
        before = self.sums.get(namespace)
        self.sums[namespace] = sums if before is None else together((before, sums))

    async def _ages(self, topic: Topic) -> dict[str, float]:
        """How old the oldest message is that is not acknowledged, by what has a backlog."""
        stored = topic.stored
        if stored is None:
            return {}
        behind = [each for each in stored.upkeep.backlogs() if each.backlog]
        return {each.name: await self._age_s(stored, each) for each in behind}

    async def _age_s(self, topic: StoredTopic, subscription: Backlogged) -> float:
        """The age of its oldest message; it is read again only when the mark has moved."""
        oldest, mark = self._admin.scrapes.oldest, subscription.mark
        key = (str(topic.name), subscription.name)
        known = oldest.get(key)
        if known is None or known[0] != mark:
            try:
                known = (mark, await topic.oldest_publish_time_ms(subscription))
            except MagnetarError:  # The other metrics are needed most when a disk fails.
                return -1
            oldest[key] = known
        published_ms = known[1]
        return -1 if published_ms < 0 else max(self._clock.wall_ms() - published_ms, 0) / 1000

    async def _give_way(self) -> None:
        """Let others have the event loop, if this has had it for long."""
        if self._clock.now() - self._turn_began >= WORK_S:
            await self._clock.sleep(PAUSE_S)
            self._turn_began = self._clock.now()
