"""Which clusters send to which, and how far each is: the map of the console. Not in Pulsar.

A broker adds up its open topics by the other cluster; the brokers of a cluster are asked and added
up; and the other clusters are asked for theirs, as far as they answer. What none of them tells of a
way is told by the side where it ends: what came, and nothing of what is still to come.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Final
from urllib.parse import quote

from magnetar.auth.access import Access
from magnetar.broker.admin.owners import ASKED_AT_ONCE_MAX, OfBroker
from magnetar.broker.admin.routes.topic_stats import note_ages
from magnetar.broker.admin.services import BrokerServices
from magnetar.broker.topics.topic import StoredTopic
from magnetar.errors import MagnetarError, NotReady
from magnetar.late_dataclass import dataclass
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.stats import ReplicationStats, TopicStats
from magnetar.rest.exchange import Reply, Request, shown
from magnetar.rest.router import Query, Route, reads
from magnetar.turns import batches

BEHIND_MAX: Final = 20
"""Topics of a way that are named: of those with something to send, or in trouble, the furthest."""
TOPICS_PER_TURN: Final = 100  # Then the loop serves others.
ANSWER_S: Final = 3.0
"""So long another cluster is waited for."""

_SUMMED: Final = (
    *("topics", "connected", "waiting", "backlog", "backlogSize"),
    *("msgOutCount", "bytesOutCount", "inbound", "msgInCount", "bytesInCount"),
)


@dataclass(slots=True)
class _Way:
    """To one other cluster, and back: the sums of open topics."""

    sums: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_SUMMED, 0))
    behind: list[tuple[StoredTopic, ReplicationStats]] = field(default_factory=list)
    delay_s: float = 0.0

    def add(self, topic: StoredTopic, stats: ReplicationStats) -> None:
        """Add one topic."""
        found = {
            "topics": 1,
            "connected": int(stats.connected),
            "waiting": int(bool(stats.backlog_entries) and not stats.connected),
            "backlog": stats.backlog_entries,
            "backlogSize": stats.backlog_bytes,
            "msgOutCount": stats.msg_out_counter,
            "bytesOutCount": stats.bytes_out_counter,
            "inbound": int(bool(stats.inbound_address)),
            "msgInCount": stats.msg_in_counter,
            "bytesInCount": stats.bytes_in_counter,
        }
        for name, value in found.items():
            self.sums[name] += value
        self.delay_s = max(self.delay_s, stats.delay_s)
        if stats.backlog_entries or stats.trouble:
            self.behind.append((topic, stats))


async def one(admin: BrokerServices, _: Request) -> Reply:
    """What the open topics of this broker send, by the other cluster, and get from there."""
    ways: dict[str, _Way] = {}
    for count, topic in enumerate(list(admin.topics.loaded.values()), start=1):
        if count % TOPICS_PER_TURN == 0:
            await admin.clock.sleep(0)
        if topic.stored is None:
            continue
        stats = TopicStats()
        topic.stored.fill(stats)
        for cluster, each in stats.replication.items():
            ways.setdefault(cluster, _Way()).add(topic.stored, each)
    return shown({name: await _shown(admin, name, way) for name, way in ways.items()})


async def _shown(admin: BrokerServices, cluster: str, way: _Way) -> dict[str, Any]:
    """The age is that of the oldest entry among the topics that are named."""
    way.behind.sort(key=lambda each: -each[1].backlog_entries)
    behind: list[dict[str, Any]] = []
    for topic, stats in way.behind[:BEHIND_MAX]:
        await note_ages(topic, {cluster: stats}, admin.clock.wall_ms())
        behind.append(
            {
                "topic": str(topic.name),
                "connected": stats.connected,
                "trouble": stats.trouble or None,
                "backlog": stats.backlog_entries,
                "ageSeconds": stats.age_s,
            }
        )
    age_s = max([way.delay_s, *(each["ageSeconds"] for each in behind)])
    return {**way.sums, "ageSeconds": age_s, "behind": behind}


@reads(Query("others", "boolean"))
async def every(admin: BrokerServices, request: Request) -> Reply:
    """The ways from this cluster, of all its brokers; with ``others``, of all clusters that answer.

    ``silent`` says of brokers and clusters that did not answer why.
    """
    silent: dict[str, str] = {}
    ways = await _of_brokers(admin, silent)
    links = [{"from": admin.cluster, "to": name, **way} for name, way in ways.items()]
    clusters = {
        name: await admin.resources.cluster(name)
        for name in sorted({admin.cluster, *ways, *(await admin.resources.clusters())})
    }
    if request.flag("others"):
        others = [name for name in clusters if name not in {admin.cluster, "global"}]
        for name, found in zip(
            others, await asyncio.gather(*(_asked(admin, each) for each in others)), strict=True
        ):
            if isinstance(found, str):
                silent[name] = found
                links += _seen_from_here(admin.cluster, name, ways.get(name))
            else:
                links += found
    return shown(
        {
            "cluster": admin.cluster,
            "time": admin.clock.wall_ms(),
            "clusters": {
                name: {}
                if data is None
                else {
                    "serviceUrl": data.fields.get("serviceUrl"),
                    "brokerServiceUrl": data.fields.get("brokerServiceUrl"),
                }
                for name, data in clusters.items()
                if name != "global"
            },
            "links": links,
            "silent": silent,
        }
    )


async def _of_brokers(admin: BrokerServices, silent: dict[str, str]) -> dict[str, dict[str, Any]]:
    """The ways of all brokers of this cluster, added up."""
    found: dict[str, dict[str, Any]] = {}
    for some in batches(await admin.owners.brokers.all(), ASKED_AT_ONCE_MAX):
        answers = await asyncio.gather(*(_of_broker(admin, each) for each in some))
        for broker, answer in zip(some, answers, strict=True):
            if isinstance(answer, str):
                silent[broker.name] = answer
                continue
            for cluster, way in answer.items():
                found[cluster] = _added(found[cluster], way) if cluster in found else way
    return found


async def _of_broker(
    admin: BrokerServices, broker: BrokerAddress
) -> dict[str, dict[str, Any]] | str:
    """The ways of a broker, or why it does not tell them."""
    path = f"{_BROKERS}/{quote(broker.name, safe='')}/replication"
    try:
        reply = await admin.owners.ask_broker(broker, Request("GET", path))
        if reply.status != 200:
            raise NotReady(f"it answers {reply.status}")
        said: dict[str, dict[str, Any]] = json.loads(reply.body)
    except (MagnetarError, ValueError) as failure:
        return str(failure)
    return said


def _added(one_way: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The ways of two brokers to the same cluster."""
    behind: Iterable[dict[str, Any]] = [*one_way["behind"], *other["behind"]]
    return {
        **{name: one_way[name] + other[name] for name in _SUMMED},
        "ageSeconds": max(one_way["ageSeconds"], other["ageSeconds"]),
        "behind": sorted(behind, key=lambda each: -each["backlog"])[:BEHIND_MAX],
    }


async def _asked(admin: BrokerServices, cluster: str) -> list[dict[str, Any]] | str:
    """The ways from another cluster as it says, or why it does not."""
    try:
        async with asyncio.timeout(ANSWER_S):
            said = await admin.remote.ask(cluster, _ALL)
        if not isinstance(said, dict) or not isinstance(said.get("links"), list):
            raise NotReady("its admin API answers something else")
    except TimeoutError:
        return f"its admin API does not answer within {ANSWER_S:g} s"
    except MagnetarError as error:
        return str(error)
    return [each for each in said["links"] if each.get("from") == cluster]


def _seen_from_here(
    here: str, there: str, way: Mapping[str, Any] | None
) -> Iterable[dict[str, Any]]:
    """What came from a cluster that does not tell itself."""
    if way is not None and (way["inbound"] or way["msgInCount"]):
        yield {
            "from": there,
            "to": here,
            "seenAt": here,
            "topics": way["inbound"],
            "connected": way["inbound"],
            "msgOutCount": way["msgInCount"],
            "bytesOutCount": way["bytesInCount"],
        }


_ALL: Final = "/admin/v2/magnetar/replication"
_BROKERS: Final = "/admin/v2/magnetar/brokers"
SERVICES: Final = BrokerServices
ROUTES: Final = (
    Route("GET", _ALL, every, Access.SUPERUSER),
    Route("GET", f"{_BROKERS}/{{broker}}/replication", one, Access.SUPERUSER, OfBroker()),
)
