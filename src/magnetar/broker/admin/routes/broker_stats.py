"""What Pulsar tells of a broker beside its metrics, as far as there is such a thing here."""

from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.overview import TOPICS_PER_TURN, NamespaceSums
from magnetar.broker.admin.routes.topic_stats import last_minute, topic_shown
from magnetar.broker.admin.services import BrokerServices
from magnetar.broker.admin.stats import StatsOptions
from magnetar.errors import MagnetarError
from magnetar.model.names import NamespaceName
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Reply, Request, done, shown
from magnetar.rest.long_answers import shown_in_turns
from magnetar.rest.router import Route

_ALLOCATORS: Final = ("default", "ml-cache")
_WANTED: Final = StatsOptions(
    backlog_size=True, earliest_in_backlog=False, publishers=True, consumers=True
)


async def metrics(admin: BrokerServices, _: Request) -> Reply:
    """What the open topics of each namespace have and do."""
    sums = (await admin.overview.look()).sums
    return shown([_metrics(name, each) for name, each in sums.items()])


def _metrics(namespace: NamespaceName, sums: NamespaceSums) -> dict[str, Any]:
    counted = {
        "brk_no_of_topics": sums.topics,
        "brk_no_of_subscriptions": sums.subscriptions,
        "brk_no_of_producers": sums.producers,
        "brk_no_of_consumers": sums.consumers,
        "brk_msg_backlog": sums.backlog_entries,
        "brk_storage_size": sums.storage_bytes,
        "brk_in_rate": sums.messages_in,
        "brk_in_tp_rate": sums.bytes_in,
        "brk_out_rate": sums.messages_out,
        "brk_out_tp_rate": sums.bytes_out,
    }
    return {"metrics": counted, "dimensions": {"namespace": str(namespace)}}


async def beans(_admin: BrokerServices, _request: Request) -> Reply:
    """There are none: they are Java's."""
    return shown([])


async def topics(admin: BrokerServices, _: Request) -> Reply:
    """The stats of all open topics, by namespace, bundle and domain."""
    found: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    for count, (name, topic) in enumerate(list(admin.topics.loaded.items()), start=1):
        try:
            stats = await topic_shown(admin.of_topics, topic, _WANTED, last_minute(admin.of_topics))
        except MagnetarError:
            continue  # It was deleted meanwhile, or its log cannot be read.
        bundles = found.setdefault(str(name.namespace), {})
        domains = bundles.setdefault((await admin.resources.bundle(name)).range, {})
        domains.setdefault(name.domain, {})[str(name)] = stats
        if count % TOPICS_PER_TURN == 0:
            await admin.clock.sleep(0)
    return await shown_in_turns(found)


async def load_report(admin: BrokerServices, _request: Request) -> Reply:
    """What this broker said last of its load; nothing where there is none to balance."""
    report = admin.health.load_report
    return done() if report is None else shown(report())


async def no_bookies(_admin: BrokerServices, _request: Request) -> Reply:
    return shown({})


async def availability(_admin: BrokerServices, _request: Request) -> Reply:
    """Refuse in the words of a broker of Pulsar's that is alone, as this one is."""
    raise Rejection(
        409, "org.apache.pulsar.broker.loadbalance.NoopLoadManager does not support this operation"
    )


async def allocator(admin: BrokerServices, request: Request) -> Reply:
    """The memory of the process; Python has one allocator, without arenas."""
    name = request.segments["allocator"]
    if name not in _ALLOCATORS:
        raise Rejection(406, f"Invalid allocator name : {name}")
    return shown(
        {
            "numDirectArenas": 0,
            "numHeapArenas": 0,
            "numThreadLocalCaches": 0,
            "usedDirectMemory": 0,
            "usedHeapMemory": admin.health.memory_bytes(),
            "directArenas": [],
            "heapArenas": [],
        }
    )


_ALL = "/admin/v2/broker-stats"
_AVAILABLE = f"{_ALL}/broker-resource-availability/{{tenant}}/{{namespace}}"
SERVICES: Final = BrokerServices
ROUTES: Final = (
    Route("GET", f"{_ALL}/metrics", metrics, Access.SUPERUSER),
    Route("GET", f"{_ALL}/mbeans", beans, Access.SUPERUSER),
    Route("GET", f"{_ALL}/topics", topics, Access.SUPERUSER),
    Route("GET", f"{_ALL}/load-report", load_report, Access.SUPERUSER),
    Route("GET", f"{_ALL}/bookieops", no_bookies, Access.SUPERUSER),
    Route("GET", f"{_ALL}/allocator-stats/{{allocator}}", allocator, Access.SUPERUSER),
    Route("GET", _AVAILABLE, availability, Access.SUPERUSER),
)
