"""What the handlers of each family of routes are given; a file of routes says of which it is."""

from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import TYPE_CHECKING

from magnetar.auth.access import Access
from magnetar.broker.admin.broker_health import BrokerHealth
from magnetar.broker.admin.events import Events
from magnetar.broker.admin.fanout import Fanout
from magnetar.broker.admin.health_check import HealthCheck
from magnetar.broker.admin.messages.work import MessageWork
from magnetar.broker.admin.overview import Overview
from magnetar.broker.admin.owners import Owners
from magnetar.broker.admin.rates import RateBook
from magnetar.broker.admin.route_authorization import RouteAuthorization
from magnetar.broker.admin.scrapes import Scrapes
from magnetar.broker.admin.sibling_metrics import SiblingMetrics
from magnetar.broker.authorization.permissions import Permissions
from magnetar.broker.cluster.lookup import Lookup
from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.creation import Creation
from magnetar.broker.dynamic_configuration import DynamicConfiguration
from magnetar.broker.policies import PolicyService
from magnetar.broker.remote_clusters import RemoteClusters
from magnetar.broker.resource_groups import ResourceGroups
from magnetar.broker.resources import Resources
from magnetar.broker.schema.registry import SchemaRegistry
from magnetar.broker.schema.topic_schemas import TopicSchemas
from magnetar.broker.settings.metrics import MetricSettings
from magnetar.broker.transactions.coordinators import Coordinators
from magnetar.clock import Clock
from magnetar.late_dataclass import dataclass
from magnetar.model.broker_address import BrokerAddress
from magnetar.rest.exchange import Request

if TYPE_CHECKING:  # It imports an HTTP client.
    from magnetar.broker.admin.functions_worker import FunctionsWorkerProcess
    from magnetar.broker.change_events.event_logs import EventLogs


@dataclass(slots=True)
class RecordServices:
    """Clusters, tenants, namespaces, policies: what is kept in records that all brokers share."""

    cluster: str
    resources: Resources
    policies: PolicyService
    resource_groups: ResourceGroups
    permissions: Permissions
    configuration: DynamicConfiguration
    owners: Owners
    fanout: Fanout
    message_size_max: int
    authorization: RouteAuthorization | None  # None: everybody may do everything.
    health: BrokerHealth

    async def require(self, request: Request, access: Access, *, tenant: str) -> None:
        """Raise Rejection where the role of a request has not this access to a tenant."""
        if self.authorization is not None:
            await self.authorization.require(request, access, tenant=tenant)


@dataclass(slots=True)
class TopicServices:
    """Topics, bundles, subscriptions and schemas."""

    broker_id: str
    clock: Clock
    resources: Resources
    topics: TopicRegistry
    owners: Owners
    fanout: Fanout
    creation: Creation
    lookup: Lookup
    schemas: TopicSchemas
    schema_registry: SchemaRegistry
    event_logs: "EventLogs | None"  # None: policies of topics are records.
    message_size_max: int
    health: BrokerHealth
    overview: Overview
    rates: RateBook
    publishers: bool  # Whether stats list them.


@dataclass(slots=True)
class MessageServices:
    """Messages as operators look at them, publish them and have them again."""

    clock: Clock
    resources: Resources
    topics: TopicRegistry
    owners: Owners
    creation: Creation
    schemas: TopicSchemas
    schema_registry: SchemaRegistry
    message_size_max: int
    authorization: RouteAuthorization | None
    messages: MessageWork


@dataclass(slots=True)
class TransactionServices:
    """Coordinators of transactions, and what is theirs in topics."""

    clock: Clock
    topics: TopicRegistry
    owners: Owners
    coordinators: Coordinators | None  # None: transactions are off.


@dataclass(slots=True)
class BrokerServices:
    """The broker itself: how it is, what it does, and its settings."""

    address: BrokerAddress
    cluster: str
    version: str
    clock: Clock
    resources: Resources
    topics: TopicRegistry
    owners: Owners
    health: BrokerHealth
    health_check: HealthCheck
    overview: Overview
    configuration: DynamicConfiguration
    metrics: MetricSettings
    metadata_url: str
    ledgers: str  # Their folder, or their root in the metadata store of a cluster.
    of_topics: TopicServices
    authorization: RouteAuthorization | None
    remote: RemoteClusters
    leave: Callable[[], Awaitable[None]]
    """Hand what the broker serves to the others, of which it is none any more."""
    events: Events = field(init=False)

    def __post_init__(self) -> None:
        self.events = Events(self.overview, self.clock, self.named)

    @property
    def named(self) -> dict[str, str]:
        """Which broker this is."""
        return {
            "version": self.version,
            "cluster": self.cluster,
            "broker": self.address.name,
            "serviceUrl": self.address.service_url or self.address.service_url_tls,
        }


@dataclass(slots=True)
class MetricServices:
    """What is counted, for Prometheus."""

    broker: BrokerServices
    lookup: Lookup
    schema_registry: SchemaRegistry
    coordinators: Coordinators | None
    rates: RateBook
    scrapes: Scrapes
    siblings: SiblingMetrics | None  # None: no other process serves the data folder.


@dataclass(slots=True)
class FunctionServices:
    """Functions, which a worker beside the broker knows."""

    functions: "FunctionsWorkerProcess | None"  # None: functions are off.
    owners: Owners


@dataclass(slots=True)
class AdminServices:
    """All families."""

    records: RecordServices
    topics: TopicServices
    messages: MessageServices
    transactions: TransactionServices
    broker: BrokerServices
    metrics: MetricServices
    functions: FunctionServices
