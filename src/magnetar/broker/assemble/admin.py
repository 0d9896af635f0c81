"""The services of the admin API's families of routes, made of a broker's."""

from collections.abc import Awaitable, Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from magnetar.broker.admin import services as families
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
from magnetar.broker.config import Config
from magnetar.broker.siblings import Sibling
from magnetar.clock import Clock
from magnetar.version import __version__

from .services import Services
from .stores import names_of_stores

if TYPE_CHECKING:  # It imports an HTTP client.
    from magnetar.broker.admin.functions_worker import FunctionsWorkerProcess


async def nothing_to_leave() -> None:
    """A broker that is alone keeps what it serves."""


def admin_services(
    services: Services,
    config: Config,
    clock: Clock,
    authorization: RouteAuthorization | None = None,
    functions: "FunctionsWorkerProcess | None" = None,
    *,
    beat: Callable[[], Awaitable[None]] | None = None,
    leave: Callable[[], Awaitable[None]] = nothing_to_leave,
    sibling: Sibling | None = None,
) -> families.AdminServices:
    """All families; each part has one name in all that are given it.

    ``beat`` sends a message through a topic. ``leave`` hands what is served to the others.
    """
    resources, registry = services.resources, services.topics
    owners = Owners(
        resources,
        registry,
        services.creation,
        brokers=services.brokers,
        peers=services.peers,
        clock=clock,
        asks_always=sibling is not None,
    )
    permissions = Permissions(resources)
    metadata_url, ledgers = names_of_stores(config)
    remedy = ["look at ZooKeeper and bookies"] if config.metadata.in_cluster else []
    parts: dict[str, Any] = {
        **{each.name: getattr(services, each.name) for each in fields(services)},
        "authorization": authorization,
        "broker_id": services.address.name,
        "clock": clock,
        "cluster": config.server.cluster,
        "metadata_url": metadata_url,
        "ledgers": ledgers,
        "fanout": Fanout(
            owners, services.schema_registry, policies=services.policies, permissions=permissions
        ),
        "functions": functions,
        "leave": leave,
        "health_check": HealthCheck(
            resources,
            services.health.check_log,
            *remedy,
            beat=beat,
        ),
        "message_size_max": config.connections.message_size_max,
        "messages": MessageWork(),
        "metrics": config.metrics,
        "overview": Overview(registry, resources, services.health, clock),
        "owners": owners,
        "permissions": permissions,
        "publishers": config.metrics.publishers,
        "rates": RateBook(),
        "scrapes": Scrapes(),
        "siblings": sibling and SiblingMetrics(sibling.number, services.brokers, services.peers),
        "version": __version__,
    }

    def family(kind: Any) -> Any:
        return kind(**{each.name: parts[each.name] for each in fields(kind) if each.init})

    parts["of_topics"] = topics = family(families.TopicServices)
    parts["broker"] = broker = family(families.BrokerServices)
    return families.AdminServices(
        records=family(families.RecordServices),
        topics=topics,
        messages=family(families.MessageServices),
        transactions=family(families.TransactionServices),
        broker=broker,
        metrics=family(families.MetricServices),
        functions=family(families.FunctionServices),
    )
