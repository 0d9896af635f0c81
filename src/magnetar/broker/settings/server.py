"""Where a broker listens, and what it calls itself."""

from typing import Final

from magnetar.late_dataclass import dataclass

from .setting import setting

PORT_MAX: Final = 65535
PROCESSES_MAX: Final = 64
_OFFSET: Final = 100
_STRIDE: Final = 2


def own_port(shared: int, number: int) -> int:
    """The port of one of several processes beside one that all have.

    The first one's is 100 further, each next one's two: those of TLS, which are odd by custom where
    others are even, lie between.
    """
    return shared + _OFFSET + _STRIDE * number


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the broker listens, and what it calls itself."""

    bind_address: str = setting(
        "bindAddress", "127.0.0.1", "address to listen on; 0.0.0.0 lets other machines in"
    )
    advertised_address: str = setting(
        "advertisedAddress",
        "",
        "host name or address that lookups tell clients; when absent it follows bindAddress: "
        "localhost, that address, or for 0.0.0.0 this machine's host name",
    )
    broker_port: int = setting(
        "brokerServicePort",
        6650,
        "port of the binary protocol; 0 picks a free one, -1 switches it off where TLS is on",
        minimum=-1,
        maximum=PORT_MAX,
    )
    web_port: int = setting(
        "webServicePort",
        8080,
        "port of the admin REST API; 0 picks a free one, -1 switches it off",
        minimum=-1,
        maximum=PORT_MAX,
    )
    cluster: str = setting("clusterName", "standalone", "name of the cluster this broker serves")
    processes: int = setting(
        "processes",
        1,
        "brokers on the data folder, a process each; 0: one for each core (docs/operating.md)",
        maximum=PROCESSES_MAX,
    )
    shutdown_timeout_ms: int = setting(
        "brokerShutdownTimeoutMs", 10_000, "how long a clean shutdown may take"
    )
    functions_worker: bool = setting(
        "functionsWorkerEnabled",
        False,
        "run functions: a worker is started beside the broker when the first one is created, or "
        "there are some (docs/functions.md)",
    )
