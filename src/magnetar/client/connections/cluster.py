"""One Pulsar cluster, as a client reaches it: addresses, TLS, and who the client says it is."""

from collections.abc import Callable

from magnetar.client.config import ClientConfig
from magnetar.client.service_url import ServiceUrl

from .addresses import Addresses
from .backoff import Backoff
from .credentials import Credentials
from .tls import Tls


class Cluster:
    """What the service URL and the settings beside it say."""

    reached: bool  # Whether one of its brokers has ever answered.

    def __init__(
        self,
        config: ClientConfig,
        backoff: Callable[[], Backoff],
        chance: Callable[[], float],
        *,
        reached: bool = False,
    ) -> None:
        """``reached``: to be waited for although no broker has answered there yet."""
        self.url = ServiceUrl.parse(config.service_url)
        begin = int(chance() * len(self.url.addresses))
        self.addresses = Addresses(self.url.addresses, backoff, begin=begin)
        self.tls = Tls(config) if self.url.tls else None
        self.credentials = Credentials(config.authentication)
        self.reached = reached
