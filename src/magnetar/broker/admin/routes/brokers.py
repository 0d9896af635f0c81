"""Brokers: their list, the health of this one, and its settings, some of which can be changed."""

from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from magnetar.auth.access import Access
from magnetar.broker.admin.owners import OfBroker
from magnetar.broker.admin.routes.isolation_policies import assigned
from magnetar.broker.admin.services import BrokerServices
from magnetar.broker.threads import in_thread
from magnetar.errors import MagnetarError, NotAllowed, NotFound
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Reply, Request, done, shown, text
from magnetar.rest.router import ANY, Query, Route, not_found, reads
from magnetar.storage.metadata import paths
from magnetar.turns import in_turns

_OWNED: Final = {"broker_assignment": "shared", "is_controlled": False, "is_active": True}
_STORES: Final = (
    "zookeeperServers",
    "configurationStoreServers",
    "metadataStoreUrl",
    "configurationMetadataStoreUrl",
)


async def names(admin: BrokerServices, _: Request) -> Reply:
    return shown([each.name for each in await admin.owners.brokers.all()])


async def names_in(admin: BrokerServices, request: Request) -> Reply:
    """Answer the same for any cluster, as Pulsar does."""
    return await names(admin, request)


async def owned(admin: BrokerServices, _request: Request) -> Reply:
    """The bundles that a broker serves, and whether an isolation policy says that it shall."""
    where = paths.isolation_policies(admin.cluster)
    policies = await admin.resources.objects.get(where) or {}
    return shown(
        {
            str(bundle): _OWNED | assigned(policies, str(bundle.namespace), admin.address.name)
            for bundle in admin.owners.ownership.bundles
        }
    )


async def storage(admin: BrokerServices, _: Request) -> Reply:
    """Where the broker stores, by the names of Pulsar's stores."""
    return shown({**dict.fromkeys(_STORES, admin.metadata_url), "ledgersRootPath": admin.ledgers})


async def shutdown(admin: BrokerServices, _: Request) -> Reply:
    raise NotAllowed(
        f"The broker {admin.address.name} is not shut down over HTTP: end its process with "
        "SIGTERM, and it closes its topics first"
    )


async def leader(admin: BrokerServices, _: Request) -> Reply:
    found = await admin.owners.brokers.leader()
    return shown({"serviceUrl": found.web_url, "brokerId": found.name})


@reads(Query("topicVersion"), Query("brokerId"))
async def health(admin: BrokerServices, request: Request) -> Reply:
    """Of this broker, or of one that is named; a broker has one heartbeat topic, of V2."""
    version = request.query.get("topicVersion", "V2")
    if version not in ("V1", "V2"):
        raise Rejection(404, f"topicVersion is V1 or V2, not {version}")
    named = request.query.get("brokerId", admin.address.name)
    if named != admin.address.name:
        broker = await admin.owners.brokers.get(named)
        if broker is None:
            raise NotFound(f"Broker id '{named}' not found in available brokers.")
        asked = replace(request, path=request.path, segments={}, headers={})
        return await admin.owners.ask_broker(broker, asked)
    try:
        await admin.health_check.check()
    except MagnetarError as error:
        raise Rejection(503, f"The broker is not well: {error}") from error
    return text("ok")


async def ready(admin: BrokerServices, _request: Request) -> Reply:
    """Whether clients should come: not while the log takes nothing."""
    error = admin.health.write_error()
    if error:
        raise Rejection(503, f"The log takes nothing: {error}")
    return text("ok")


async def status(admin: BrokerServices, request: Request) -> Reply:
    """For load balancers: OK while a file exists, which an operator removes to take it out."""
    if not (admin.metrics.status_file and await _exists(Path(admin.metrics.status_file))):
        raise not_found(request)
    return Reply(200, b"OK", "text/plain")


async def _exists(path: Path) -> bool:
    return await in_thread(path.is_file)


async def version(admin: BrokerServices, _: Request) -> Reply:
    return text(admin.version)


async def check_backlogs(admin: BrokerServices, _: Request) -> Reply:
    """Compare the backlogs of all open topics with their quotas now."""
    async for topic in in_turns(list(admin.topics.loaded.values())):
        if topic.stored is not None:
            await topic.stored.upkeep.check_backlog()
    return done()


async def setting_names(admin: BrokerServices, _: Request) -> Reply:
    return shown(admin.configuration.names)


async def settings(admin: BrokerServices, _: Request) -> Reply:
    return shown(await admin.configuration.values())


async def runtime_settings(admin: BrokerServices, _: Request) -> Reply:
    return shown(await admin.configuration.runtime())


async def change_setting(admin: BrokerServices, request: Request) -> Reply:
    name, value = (unquote(request.segments[each]) for each in ("name", "value"))
    effective = await admin.configuration.change(name, value)
    return done(() if effective else (name,), status=200)


async def delete_setting(admin: BrokerServices, request: Request) -> Reply:
    await admin.configuration.delete(unquote(request.segments["name"]))
    return Reply(200)


_SETTINGS = "/admin/v2/brokers/configuration"
SERVICES: Final = BrokerServices
ROUTES: Final = (
    Route("GET", "/admin/v2/brokers", names),
    Route("GET", "/admin/v2/brokers/{cluster}", names_in),
    Route("GET", "/admin/v2/brokers/leaderBroker", leader),
    Route("GET", "/admin/v2/brokers/backlog-quota-check", check_backlogs),
    Route("GET", "/admin/v2/brokers/internal-configuration", storage, Access.SUPERUSER),
    Route("POST", "/admin/v2/brokers/shutdown", shutdown, Access.SUPERUSER),
    Route(
        "GET",
        "/admin/v2/brokers/{cluster}/{broker}/ownedNamespaces",
        owned,
        Access.SUPERUSER,
        OfBroker(),
    ),
    Route("GET", "/admin/v2/brokers/health", health, gives=ANY),
    Route("GET", "/status.html", status, Access.PUBLIC, gives=ANY),
    Route("GET", "/admin/v2/brokers/ready", ready, Access.AUTHENTICATED, gives=ANY),
    Route("GET", "/admin/v2/brokers/version", version, Access.AUTHENTICATED, gives=ANY),
    Route("GET", _SETTINGS, setting_names, Access.SUPERUSER),
    Route("GET", f"{_SETTINGS}/values", settings, Access.SUPERUSER),
    Route("GET", f"{_SETTINGS}/runtime", runtime_settings, Access.SUPERUSER),
    Route("POST", f"{_SETTINGS}/{{name}}/{{value}}", change_setting, Access.SUPERUSER),
    Route("DELETE", f"{_SETTINGS}/{{name}}", delete_setting, Access.SUPERUSER),
)
