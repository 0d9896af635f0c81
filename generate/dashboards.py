"""Makes the Grafana dashboards in src/magnetar/tools/deploy/dashboards.

python generate/dashboards.py            write them
python generate/dashboards.py --check    exit code 1 where they are not as this would write them
"""

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "src" / "magnetar" / "tools" / "deploy" / "dashboards"
CLUSTER = 'cluster="$cluster"'
TOPIC = f'{CLUSTER},namespace=~"$namespace",topic=~"$topic"'
SUBSCRIPTION = f'{TOPIC},subscription=~"$subscription"'


def buckets(name: str, quantile: float) -> str:
    rate = f"sum by (le) (rate({name}_bucket{{{CLUSTER}}}[$__rate_interval]))"
    return f"histogram_quantile({quantile}, {rate})"


# A dashboard: its variables, and panels of a title, a unit and queries with their legends.
DASHBOARDS: dict[str, tuple[str, list[str], list[tuple[str, str, dict[str, str]]]]] = {
    "broker": (
        "Magnetar: broker",
        [],
        [
            (
                "Messages",
                "cps",
                {
                    "in": f"sum(pulsar_broker_rate_in{{{CLUSTER}}})",
                    "out": f"sum(pulsar_broker_rate_out{{{CLUSTER}}})",
                },
            ),
            (
                "Bytes",
                "Bps",
                {
                    "in": f"sum(pulsar_broker_throughput_in{{{CLUSTER}}})",
                    "out": f"sum(pulsar_broker_throughput_out{{{CLUSTER}}})",
                },
            ),
            (
                "Time until a message is stored",
                "s",
                {
                    f"p{share:g}": buckets("magnetar_publish_latency_seconds", share / 100)
                    for share in (50, 99)
                },
            ),
            (
                "Syncs of the log",
                "s",
                {
                    f"p{share:g}": buckets("magnetar_fsync_seconds", share / 100)
                    for share in (50, 99)
                },
            ),
            (
                "How late the event loop is",
                "s",
                {
                    f"p{share:g}": buckets("magnetar_loop_lag_seconds", share / 100)
                    for share in (50, 99)
                },
            ),
            ("Backlog, entries", "short", {"all": f"sum(pulsar_broker_msg_backlog{{{CLUSTER}}})"}),
            (
                "Stored",
                "bytes",
                {
                    "topics": f"sum(pulsar_broker_storage_size{{{CLUSTER}}})",
                    "free on the disk": f"min(magnetar_disk_free_bytes{{{CLUSTER}}})",
                },
            ),
            (
                "Open topics, and who is connected",
                "short",
                {
                    "topics": f"sum(pulsar_broker_topics_count{{{CLUSTER}}})",
                    "producers": f"sum(pulsar_broker_producers_count{{{CLUSTER}}})",
                    "consumers": f"sum(pulsar_broker_consumers_count{{{CLUSTER}}})",
                    "connections": f"sum(pulsar_active_connections{{{CLUSTER}}})",
                },
            ),
            (
                "The process: memory",
                "bytes",
                {"resident": f"process_resident_memory_bytes{{{CLUSTER}}}"},
            ),
            (
                "The process: cores",
                "short",
                {"cores": f"rate(process_cpu_seconds_total{{{CLUSTER}}}[$__rate_interval])"},
            ),
            (
                "Health (1: well) and whether the log takes anything",
                "short",
                {
                    "health": f"min(pulsar_health{{{CLUSTER}}})",
                    "log": f"min(magnetar_log_writable{{{CLUSTER}}})",
                },
            ),
            (
                "Read from disk, entries",
                "cps",
                {"misses": f"sum(pulsar_ml_cache_misses_rate{{{CLUSTER}}})"},
            ),
            (
                "Entries not stored, and reads that failed",
                "short",
                {
                    "not stored: {{namespace}}": "sum by (namespace) "
                    f"(pulsar_ml_AddEntryErrors{{{CLUSTER}}}) > 0",
                    "not read: {{namespace}}": "sum by (namespace) "
                    f"(pulsar_ml_ReadEntriesErrors{{{CLUSTER}}}) > 0",
                },
            ),
        ],
    ),
    "topics": (
        "Magnetar: topics",
        ["namespace", "topic"],
        [
            ("Published", "cps", {"{{topic}}": f"topk(20, pulsar_rate_in{{{TOPIC}}})"}),
            ("Delivered", "cps", {"{{topic}}": f"topk(20, pulsar_rate_out{{{TOPIC}}})"}),
            (
                "Published, bytes",
                "Bps",
                {"{{topic}}": f"topk(20, pulsar_throughput_in{{{TOPIC}}})"},
            ),
            ("Stored", "bytes", {"{{topic}}": f"topk(20, pulsar_storage_size{{{TOPIC}}})"}),
            (
                "Backlog, entries",
                "short",
                {"{{topic}}": f"topk(20, pulsar_msg_backlog{{{TOPIC}}})"},
            ),
            (
                "Age of the oldest unacknowledged message",
                "s",
                {"{{topic}}": f"topk(20, pulsar_storage_backlog_age_seconds{{{TOPIC}}})"},
            ),
            (
                "Entries stored in more than 100 ms",
                "short",
                {
                    "{{topic}}": "topk(20, sum by (topic) ("
                    + " + ".join(
                        f"pulsar_storage_write_latency_{name}{{{TOPIC}}}"
                        for name in ("le_200", "le_1000", "overflow")
                    )
                    + "))"
                },
            ),
            (
                "Producers that waited for a limit",
                "short",
                {"{{topic}}": f"topk(20, pulsar_publish_rate_limit_times{{{TOPIC}}})"},
            ),
            (
                "Read by compaction, bytes",
                "Bps",
                {"{{topic}}": f"topk(20, pulsar_compaction_read_throughput{{{TOPIC}}})"},
            ),
        ],
    ),
    "subscriptions": (
        "Magnetar: subscriptions",
        ["namespace", "topic", "subscription"],
        [
            (
                "Why backlogs are not delivered",
                "short",
                {
                    "{{topic}} {{subscription}}: {{reason}}": (
                        f"magnetar_subscription_blocked{{{SUBSCRIPTION}}}"
                    )
                },
            ),
            (
                "Backlog, entries",
                "short",
                {
                    "{{topic}} {{subscription}}": (
                        f"topk(20, pulsar_subscription_back_log{{{SUBSCRIPTION}}})"
                    )
                },
            ),
            (
                "Age of the oldest message",
                "s",
                {
                    "{{topic}} {{subscription}}": (
                        f"topk(20, magnetar_subscription_backlog_age_seconds{{{SUBSCRIPTION}}})"
                    )
                },
            ),
            (
                "Backlog, bytes",
                "bytes",
                {
                    "{{topic}} {{subscription}}": (
                        f"topk(20, magnetar_subscription_backlog_bytes{{{SUBSCRIPTION}}})"
                    )
                },
            ),
            (
                "Delivered",
                "cps",
                {
                    "{{topic}} {{subscription}}": (
                        f"topk(20, pulsar_subscription_msg_rate_out{{{SUBSCRIPTION}}})"
                    )
                },
            ),
            (
                "Redelivered",
                "cps",
                {
                    "{{topic}} {{subscription}}": (
                        f"topk(20, pulsar_subscription_msg_rate_redeliver{{{SUBSCRIPTION}}})"
                    )
                },
            ),
            (
                "Delivered and not acknowledged",
                "short",
                {
                    "{{topic}} {{subscription}}": (
                        f"topk(20, pulsar_subscription_unacked_messages{{{SUBSCRIPTION}}})"
                    )
                },
            ),
            (
                "Delayed, and acknowledged ranges behind a hole",
                "short",
                {
                    "delayed {{topic}} {{subscription}}": (
                        f"topk(20, pulsar_subscription_delayed{{{SUBSCRIPTION}}})"
                    ),
                    "ranges {{topic}} {{subscription}}": (
                        f"topk(20, magnetar_subscription_acked_ranges{{{SUBSCRIPTION}}})"
                    ),
                },
            ),
        ],
    ),
}
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
LISTED = {
    "cluster": "label_values(pulsar_broker_topics_count, cluster)",
    "namespace": f"label_values(pulsar_topics_count{{{CLUSTER}}}, namespace)",
    "topic": f'label_values(pulsar_rate_in{{{CLUSTER},namespace=~"$namespace"}}, topic)',
    "subscription": f"label_values(pulsar_subscription_back_log{{{TOPIC}}}, subscription)",
}


def panel(number: int, title: str, unit: str, queries: dict[str, str]) -> dict[str, Any]:
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": title,
        "datasource": SOURCE,
        "gridPos": {"h": 8, "w": 12, "x": number % 2 * 12, "y": number // 2 * 8},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}},
        "targets": [
            {"refId": chr(65 + at), "expr": query, "legendFormat": legend, "datasource": SOURCE}
            for at, (legend, query) in enumerate(queries.items())
        ],
    }


def variable(name: str) -> dict[str, Any]:
    several = name != "cluster"
    return {
        "name": name,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": LISTED[name], "refId": name},
        "refresh": 2,
        "sort": 1,
        "multi": several,
        "includeAll": several,
        **({"allValue": ".*", "current": {"text": "All", "value": "$__all"}} if several else {}),
    }


def dashboard(name: str) -> str:
    title, variables, panels = DASHBOARDS[name]
    source = {"name": "datasource", "type": "datasource", "query": "prometheus"}
    whole = {
        "uid": f"magnetar-{name}",
        "title": title,
        "tags": ["magnetar"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "15s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [source, *map(variable, ["cluster", *variables])]},
        "panels": [panel(number, *each) for number, each in enumerate(panels)],
    }
    return json.dumps(whole, indent=1) + "\n"


def main() -> int:
    made = {f"{name}.json": dashboard(name) for name in DASHBOARDS}
    if "--check" in sys.argv:
        there = {path.name: path.read_text() for path in FOLDER.glob("*.json")}
        return int(there != made)
    FOLDER.mkdir(exist_ok=True)
    for name, text in made.items():
        (FOLDER / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
