"""The functions workers of a cluster: consumers of one Failover subscription, as in Pulsar.

Whose consumer is the active one leads. A worker whose connection ends is none of them at once.
"""

from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import urlsplit

from magnetar.client.client import Client
from magnetar.client.consumers.consumer import Consumer
from magnetar.errors import InvalidValue, ProducerBusy
from magnetar.functions.worker.admin import Admin
from magnetar.functions.worker.metadata import NAMESPACE
from magnetar.model.subscriptions import SubscriptionType

TOPIC: Final = f"persistent://{NAMESPACE}/coordinate"
SUBSCRIPTION: Final = "participants"
_URL: Final = "url"


@dataclass(frozen=True, slots=True)
class Member:
    """A worker, and the address at which its API answers: often that of its broker."""

    id: str
    url: str

    @classmethod
    def at(cls, url: str) -> Self:
        """The worker of this address, whose name it keeps when it is started again."""
        where = urlsplit(url)
        return cls(f"magnetar-fw-{where.hostname}-{where.port}", url)

    def shown(self) -> dict[str, Any]:
        """Pulsar's WorkerInfo."""
        where = urlsplit(self.url)
        return {"workerId": self.id, "workerHostname": where.hostname, "port": where.port}


class Members:
    """A worker among the others. Made by ``join``."""

    def __init__(self, own: Member, consumer: Consumer[bytes], admin: Admin) -> None:
        self.own = own
        self._consumer = consumer
        self._admin = admin

    @classmethod
    async def join(cls, own: Member, client: Client, admin: Admin) -> Self:
        """Become a member, until the client is closed. Raises InvalidValue where it is one already.

        The broker looks whether a producer of before lives before it refuses another of its name.
        """
        try:
            await client.create_producer(TOPIC, name=own.id)
        except ProducerBusy as error:
            raise InvalidValue(
                f"another functions worker has the address {own.url}, and runs what is assigned to "
                "it: give each an address that the others reach (--host and --port)"
            ) from error
        consumer = await client.subscribe(
            TOPIC,
            SUBSCRIPTION,
            type=SubscriptionType.FAILOVER,
            name=own.id,
            properties={_URL: own.url},
        )
        return cls(own, consumer, admin)

    @property
    def leads(self) -> bool:
        """Whether this worker shall lead, by what the broker told it last."""
        return self._consumer.active

    async def look(self) -> tuple[dict[str, Member], str]:
        """The members by name, and the name of the one that leads; "": none does."""
        stats = await self._admin.subscription_stats(TOPIC, SUBSCRIPTION)
        found = {
            each["consumerName"]: Member(
                each["consumerName"], each.get("metadata", {}).get(_URL, "")
            )
            for each in stats.get("consumers", ())
        }
        return found, stats.get("activeConsumerName") or ""
