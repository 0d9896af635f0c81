"""Where a broker listens, and what it calls itself."""

from dataclasses import dataclass

from .setting import setting


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
        maximum=65535,
    )
    web_port: int = setting(
        "webServicePort",
        8080,
        "port of the admin REST API; 0 picks a free one, -1 switches it off",
        minimum=-1,
        maximum=65535,
    )
    cluster: str = setting("clusterName", "standalone", "name of the cluster this broker serves")
    shutdown_timeout_ms: int = setting(
        "brokerShutdownTimeoutMs", 10_000, "how long a clean shutdown may take"
    )
    functions_worker: bool = setting(
        "functionsWorkerEnabled",
        False,
        "run functions: a worker is started beside the broker when the first one is created, or "
        "there are some (docs/functions.md)",
    )
