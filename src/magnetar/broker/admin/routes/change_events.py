"""Events of a topic ``__change_events``, which brokers of a cluster ask its owner for: our own."""

from typing import TYPE_CHECKING, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.owners import AtOwner
from magnetar.broker.admin.services import TopicServices
from magnetar.broker.change_events.event import EventKey
from magnetar.errors import InvalidName
from magnetar.model.names import TopicName
from magnetar.model.position import Position
from magnetar.model.system_topics import is_change_events
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, shown
from magnetar.rest.router import Query, Route, reads

if TYPE_CHECKING:  # Brokers of clusters alone import it.
    from magnetar.broker.change_events.event_logs import EventLogs


@reads(Query("after"))
async def get(admin: TopicServices, request: Request) -> Reply:
    """Show the newest event of each topic that has policies, or what is new behind a position."""
    name, logs = _asked(admin, request)
    after = request.query.get("after")
    try:
        place = None if after is None else Position(*map(int, after.split(":")))
    except (ValueError, TypeError):
        raise Rejection(400, f"after is a position, as 3:17, and not {after!r:.60}") from None
    return shown((await logs.since(name, place)).to_json())


async def put(admin: TopicServices, request: Request) -> Reply:
    """Append an event in the place of one that is the newest of its key, or say that it is not."""
    name, logs = _asked(admin, request)
    sent = arguments.json_object(request) or {}
    try:
        key, policies, instead_of = (sent[name] for name in ("key", "policies", "insteadOf"))
        place = None if instead_of is None else Position(*map(int, instead_of))
        key = EventKey.parse(key)
    except (KeyError, ValueError, TypeError, AttributeError, InvalidName):
        raise Rejection(400, "An event has a key, policies, and what it is instead of") from None
    if not isinstance(policies, dict | None):
        raise Rejection(400, "The policies of an event are an object, or null")
    return shown(await logs.put(name, key, policies, place))


def _asked(admin: TopicServices, request: Request) -> "tuple[TopicName, EventLogs]":
    name = arguments.topic(request)
    if admin.event_logs is None or not is_change_events(name):
        raise Rejection(405, f"There are no policies of topics in {name}")
    return name, admin.event_logs


_PATH: Final = "/admin/v2/persistent/{tenant}/{namespace}/{topic}/policyEvents"
SERVICES: Final = TopicServices
ROUTES: Final = (
    Route("GET", _PATH, get, Access.SUPERUSER, AtOwner()),
    Route("POST", _PATH, put, Access.SUPERUSER, AtOwner(), takes=(JSON,)),
)
