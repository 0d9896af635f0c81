"""What a proxy counts, by the names of Pulsar's metrics. Pure."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class ProxyCounts:
    """Since the proxy started, but for what is open."""

    opened: int = 0
    closed: int = 0
    refused: int = 0  # There were too many; they count as opened, too.
    reads: int = 0  # Of connections that are passed on.
    bytes: int = 0
    lookups: int = 0
    lookups_running: int = 0
    lookups_refused: int = 0
    per_ip: Counter[str] = field(default_factory=Counter)

    @property
    def open(self) -> int:
        return self.opened - self.closed

    def text(self) -> str:
        """In the format of Prometheus."""
        rows = (
            (
                "pulsar_proxy_active_connections",
                "gauge",
                "Connections that clients have open",
                self.open,
            ),
            (
                "pulsar_proxy_new_connections",
                "counter",
                "Connections that clients opened",
                self.opened,
            ),
            (
                "pulsar_proxy_rejected_connections",
                "counter",
                "Those there were too many of",
                self.refused,
            ),
            (
                "pulsar_proxy_binary_ops",
                "counter",
                "Reads that were passed on, either way",
                self.reads,
            ),
            (
                "pulsar_proxy_binary_bytes",
                "counter",
                "Bytes that were passed on, either way",
                self.bytes,
            ),
            (
                "pulsar_proxy_lookup_requests",
                "counter",
                "Questions that brokers were asked",
                self.lookups,
            ),
            (
                "pulsar_proxy_rejected_lookup_requests",
                "counter",
                "Those there were too many of",
                self.lookups_refused,
            ),
        )
        return "".join(
            f"# HELP {name} {about}\n# TYPE {name} {kind}\n{name} {value}\n"
            for name, kind, about, value in rows
        )
