"""The metrics of bookies and ZooKeeper, as a broker of a cluster sees them.

Those that Pulsar tells of its BookKeeper client have its names, with latencies in ms. This file is
imported when metrics are first asked for, and the Prometheus library with it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from magnetar.broker.admin.metric_families import MetricFamilies, add_summary
from magnetar.broker.admin.services import MetricServices
from magnetar.model.cluster_stores import (
    SESSION_STATES,
    BookieState,
    LedgerCounts,
    Presence,
    SessionCounts,
)
from magnetar.model.histogram import Histogram

_CLIENT: Final = "pulsar_managedLedger_client_bookkeeper_client"
_CHANNEL: Final = f"{_CLIENT}_per_channel_bookie_client"
_OF_BOOKIES: Final[Sequence[tuple[str, str, Callable[[BookieState], float]]]] = (
    (
        f"{_CHANNEL}_ADD_OP_OUTSTANDING",
        "entries that it has not answered",
        attrgetter("adds_pending"),
    ),
    (f"{_CHANNEL}_READ_OP_OUTSTANDING", "reads", attrgetter("counts.reads.running")),
    (f"{_CHANNEL}_TIMEOUT_ADD_ENTRY", "since the start", attrgetter("counts.add_timeouts")),
    (f"{_CHANNEL}_TIMEOUT_READ_ENTRY", "since the start", attrgetter("counts.read_timeouts")),
    (
        f"{_CHANNEL}_FAILED_CONNECTION_COUNTER",
        "since the start",
        attrgetter("counts.connections_failed"),
    ),
    (f"{_CLIENT}_BOOKIE_QUARANTINE", "how often it was avoided", attrgetter("counts.quarantines")),
    (
        "magnetar_bookie_quarantined",
        "1: it failed of late, and is avoided",
        attrgetter("quarantined"),
    ),
    ("magnetar_bookie_connected", "1: there is a connection", attrgetter("connected")),
)


def of_stores(admin: MetricServices, make: MetricFamilies) -> Iterator[Metric]:
    """All of them; none of a broker that is alone."""
    stores = admin.broker.health.cluster
    if stores is None:
        return
    bookies = stores.bookies()
    yield from _ledgers(make, stores.ledgers)
    yield from _bookies(make, bookies)
    yield make.gauge("magnetar_bookies_needed", "for a ledger", stores.ensemble_size)
    yield from _sessions(make, stores.sessions)


def _ledgers(make: MetricFamilies, counts: LedgerCounts) -> Iterator[Metric]:
    yield _latency(
        make, "ADD_ENTRY", "until an entry is answered", counts.add_latency, counts.adds_failed
    )
    for name, about, its in (
        ("READ_ENTRY", "reads, of many entries at a time", counts.reads),
        ("LEDGER_CREATE", "new ledgers", counts.created),
        ("LEDGER_OPEN", "ledgers that were opened", counts.opened),
        ("LEDGER_RECOVER", "those of them that had not ended", counts.recovered),
        ("LEDGER_DELETE", "ledgers that were deleted", counts.deleted),
    ):
        yield _latency(make, name, about, its.latency, its.failed)
    yield make.gauge(
        f"{_CLIENT}_NUM_ENSEMBLE_CHANGE",
        "how often another bookie took the place of one",
        counts.ensemble_changes,
    )


def _latency(
    make: MetricFamilies, name: str, about: str, latency: Histogram, failed: int
) -> Metric:
    family = Metric(f"{_CLIENT}_{name}", f"{about}, in ms", "summary")
    _add_latency(make, family, latency, failed)
    return family


def _add_latency(
    make: MetricFamilies, family: Metric, latency: Histogram, failed: int, **labels: str
) -> None:
    """How long what succeeded took, and how much failed."""
    labels = make.labels(**labels)
    add_summary(family, latency, {**labels, "success": "true"}, created=make.started_s)
    family.add_sample(f"{family.name}_count", {**labels, "success": "false"}, failed)


def _bookies(make: MetricFamilies, bookies: Sequence[BookieState]) -> Iterator[Metric]:
    adds = Metric(f"{_CHANNEL}_ADD_ENTRY", "of entries that went together, in ms", "summary")
    reads = Metric(f"{_CHANNEL}_READ_ENTRY", "of reads, in ms", "summary")
    added = CounterMetricFamily(
        "magnetar_bookie_entries_added", "since the start", labels=["cluster", "bookie"]
    )
    connections = CounterMetricFamily(
        "magnetar_bookie_connections", "that were made", labels=["cluster", "bookie"]
    )
    presence = GaugeMetricFamily(
        "magnetar_bookie_state",
        "1: it is that; writable, read-only or away",
        labels=["cluster", "bookie", "state"],
    )
    for each in bookies:
        its, values = each.counts, [make.cluster, each.bookie_id]
        _add_latency(make, adds, its.add_latency, its.adds_failed, bookie=each.bookie_id)
        _add_latency(make, reads, its.reads.latency, its.reads.failed, bookie=each.bookie_id)
        added.add_metric(values, its.added, created=make.started_s)
        connections.add_metric(values, its.connections, created=make.started_s)
        for state in Presence:
            presence.add_metric([*values, state.value], each.presence is state)
    yield from (adds, reads, added, connections, presence)
    for name, about, find in _OF_BOOKIES:
        values_by_bookie = {each.bookie_id: float(find(each)) for each in bookies}
        yield _by(make, name, about, "bookie", values_by_bookie)


def _sessions(make: MetricFamilies, sessions: Sequence[SessionCounts]) -> Iterator[Metric]:
    state = GaugeMetricFamily(
        "magnetar_zookeeper_session_state", "1: it is that", labels=["cluster", "name", "state"]
    )
    for each in sessions:
        for name in SESSION_STATES:
            state.add_metric([make.cluster, each.name, name], each.state == name)
    yield state
    for name, about, counted in (
        ("magnetar_zookeeper_reconnections", "since the start", attrgetter("reconnections")),
        ("magnetar_zookeeper_sessions_lost", "since the start", attrgetter("lost")),
    ):
        family = CounterMetricFamily(name, about, labels=["cluster", "name"])
        for each in sessions:
            family.add_metric([make.cluster, each.name], counted(each), created=make.started_s)
        yield family
    yield _by(
        make,
        "magnetar_zookeeper_watches",
        "of this broker",
        "name",
        {each.name: each.watches() for each in sessions},
    )


def _by(
    make: MetricFamilies, name: str, about: str, label: str, values: Mapping[str, float]
) -> Metric:
    family = GaugeMetricFamily(name, about, labels=["cluster", label])
    for its, value in values.items():
        family.add_metric([make.cluster, its], value)
    return family
