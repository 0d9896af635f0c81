"""The brokers of a cluster: what each carries, and why; one hands over all of it. Not in Pulsar."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from magnetar.auth.access import Access
from magnetar.broker.admin.owners import ASKED_AT_ONCE_MAX, OfBroker
from magnetar.broker.admin.services import BrokerServices
from magnetar.broker.topics.topic import Topic
from magnetar.errors import MagnetarError
from magnetar.model.broker_address import BrokerAddress
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Reply, Request, done, shown
from magnetar.rest.router import Route
from magnetar.turns import batches


async def every(admin: BrokerServices, _: Request) -> Reply:
    """Each broker that runs, as it says of itself now; one that does not answer with the reason."""
    brokers, leads = await admin.owners.brokers.all(), await admin.owners.brokers.leader()
    found: list[dict[str, Any]] = []
    for some in batches(brokers, ASKED_AT_ONCE_MAX):
        found += await asyncio.gather(*(_asked(admin, each) for each in some))
    return shown([{**each, "leader": each["broker"] == leads.name} for each in found])


async def _asked(admin: BrokerServices, broker: BrokerAddress) -> dict[str, Any]:
    request = Request("GET", f"{_ALL}/{quote(broker.name, safe='')}")
    try:
        reply = await admin.owners.ask_broker(broker, request)
        if reply.status == 200:
            said: dict[str, Any] = json.loads(reply.body)
            return said
        error = f"it answers {reply.status}"
    except (MagnetarError, ValueError) as failure:
        error = str(failure)
    return {"broker": broker.name, "serviceUrl": broker.service_url, "error": error, "bundles": []}


async def one(admin: BrokerServices, _: Request) -> Reply:
    """What this broker carries; its load report is as old as ``lastUpdate`` says."""
    ownership, topics = admin.owners.ownership, admin.topics.by_bundle()
    load = admin.health.load_report
    report = {} if load is None else dict(load())
    rates = report.pop("lastStats", {})
    bundles = []
    for bundle, state in sorted(ownership.states().items(), key=lambda each: str(each[0])):
        to = await ownership.handed_to(bundle)
        why = ownership.reason(bundle)
        bundles.append(
            {
                "bundle": str(bundle),
                "namespace": str(bundle.namespace),
                "range": bundle.range,
                "state": state.name.lower(),
                "why": None if why is None else why[0].value,
                "since": None if why is None else why[1],
                "handedTo": None if to is None else to.name,
                **_counted(topics.get(bundle, ())),
                **rates.get(str(bundle), {}),
            }
        )
    return shown(
        {
            "broker": admin.address.name,
            "serviceUrl": admin.address.service_url or admin.address.service_url_tls,
            "version": admin.version,
            "started": admin.health.started_ms,
            "leaving": ownership.leaving,
            "report": report,
            "bundles": bundles,
        }
    )


def _counted(topics: Sequence[Topic]) -> dict[str, int]:
    return {
        "topics": len(topics),
        "producers": sum(len(each.producers) for each in topics),
    }


async def drain(admin: BrokerServices, _: Request) -> Reply:
    """Hand every bundle to the other brokers, one after the other, and take none any more.

    The process goes on, for whoever is still connected, until it is ended: started again it takes
    part again.
    """
    others = [each for each in await admin.owners.brokers.all() if each != admin.address]
    if not others:
        raise Rejection(
            412, f"There is no other broker to take the bundles of {admin.address.name}"
        )
    await admin.leave()
    return done()


_ALL: Final = "/admin/v2/magnetar/brokers"
_ONE: Final = f"{_ALL}/{{broker}}"
SERVICES: Final = BrokerServices
ROUTES: Final = (
    Route("GET", _ALL, every, Access.SUPERUSER),
    Route("GET", _ONE, one, Access.SUPERUSER, OfBroker()),
    Route("POST", f"{_ONE}/drain", drain, Access.SUPERUSER, OfBroker()),
)
