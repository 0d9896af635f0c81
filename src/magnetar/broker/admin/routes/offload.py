"""Offloading: begun by hand, how it stands, and the policies that say when and to where."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

from magnetar.auth.access import Access
from magnetar.broker.admin.owners import OfTopic
from magnetar.broker.admin.routes.namespaces import require_place
from magnetar.broker.admin.routes.policy_scope import (
    APPLIED,
    NAMESPACE,
    TOPICS,
    PolicyScope,
    routes_at,
    set_own,
)
from magnetar.broker.admin.routes.single_messages import message_id
from magnetar.broker.admin.services import RecordServices
from magnetar.broker.settings.setting import MIB
from magnetar.broker.topics.topic import StoredTopic
from magnetar.errors import InvalidValue, NotAllowed
from magnetar.model import policy_values as values
from magnetar.model.offload_policies import FILES, GCS, S3, OffloadPolicies
from magnetar.model.policy_rows import Level
from magnetar.model.position import EARLIEST
from magnetar.model.process_status import ProcessStatus
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Route, reads


class _Older(NamedTuple):
    """A policy that namespaces had before there was an object, and still may set by itself."""

    path: str
    name: str  # In ``Policies``.
    field: str  # In ``OffloadPolicies``, which is what holds.
    unset: int | None = None
    put_status: int = 204


_OLDER: Final = (
    _Older("offloadThreshold", "offload_threshold_bytes", "threshold_bytes", -1),
    _Older("offloadThresholdInSeconds", "offload_threshold_s", "threshold_s", -1, 200),
    _Older("offloadDeletionLagMs", "offload_deletion_lag_ms", "deletion_lag_ms"),
)

_PULSARS: Final = {
    "offloadersDirectory": "./offloaders",
    "managedLedgerOffloadMaxThreads": 2,
    "managedLedgerOffloadPrefetchRounds": 1,
    "managedLedgerExtraConfigurations": {},
    "s3ManagedLedgerOffloadMaxBlockSizeInBytes": 64 * MIB,
    "s3ManagedLedgerOffloadReadBufferSizeInBytes": MIB,
    "s3ManagedLedgerOffloadRoleSessionName": "pulsar-s3-offload",
    "gcsManagedLedgerOffloadMaxBlockSizeInBytes": 128 * MIB,
    "gcsManagedLedgerOffloadReadBufferSizeInBytes": MIB,
}
"""What Pulsar shows where nobody says anything; it is about how Pulsar does it."""


async def start(_admin: RecordServices, request: Request, topic: StoredTopic) -> Reply:
    """Offload the ledgers before that of a message."""
    place = arguments.required_position(request)
    try:
        topic.offloading().start(place.message.position)
    except NotAllowed as error:
        raise Rejection(412, str(error)) from None
    return done()


async def show_status(_admin: RecordServices, _request: Request, topic: StoredTopic) -> Reply:
    """How the last offloading went, since the topic was opened."""
    offload = topic.offload
    status, error, left = ProcessStatus.NOT_RUN, "", None
    if offload is not None:
        status, error = offload.status, offload.last_error
        left = None if offload.running else offload.first_left
    return shown(
        {
            "status": status.value,
            "lastError": error,
            "firstUnoffloadedMessage": message_id(left or EARLIEST, -1),
        }
    )


@reads(APPLIED)
async def get(scope: PolicyScope, admin: RecordServices, request: Request) -> Reply:
    found = (await scope.own(admin, request)).offload
    if scope is not NAMESPACE and request.flag("applied"):
        combined = await scope.combined(admin, request)
        found = combined.policies.offload
        if combined.levels.get("offload") is Level.BROKER and found and not found.driver:
            found = None  # Nobody says that anything is offloaded.
    return Reply(200) if found in (None, OffloadPolicies()) else shown(_shown(found))


def _shown(found: OffloadPolicies) -> dict[str, Any]:
    kinds = {
        "s3Driver": found.driver in S3,
        "gcsDriver": found.driver == GCS,
        "fileSystemDriver": found.driver == FILES,
    }
    return {**_PULSARS, **values.to_json(found), **kinds}


async def change(scope: PolicyScope, admin: RecordServices, request: Request) -> Reply:
    body = arguments.body(request)
    if body is None:
        raise Rejection(412, "The offloadPolicies must be specified for namespace offload.")
    try:
        asked: OffloadPolicies = values.from_json(OffloadPolicies, body, "offloadPolicies")
    except InvalidValue as error:
        raise Rejection(400, str(error)) from None
    try:
        replace(asked, driver=asked.driver or "").check()
    except InvalidValue as error:
        raise Rejection(412, str(error)) from None
    await scope.own(admin, request)
    combined = await scope.combined(admin, request)
    await require_place(admin, request, asked, combined.policies.offload)
    await scope.change(admin, request, offload=asked)
    return done()


async def remove(scope: PolicyScope, admin: RecordServices, request: Request) -> Reply:
    older = {each.name: None for each in _OLDER} if scope is NAMESPACE else {}
    return await set_own(scope, admin, request, offload=None, **older)


async def get_older(older: _Older, admin: RecordServices, request: Request) -> Reply:
    offload = (await NAMESPACE.own(admin, request)).offload
    found = None if offload is None else getattr(offload, older.field)
    found = older.unset if found is None else found
    return Reply(200) if found is None else shown(found)


async def change_older(older: _Older, admin: RecordServices, request: Request) -> Reply:
    await _set_older(older, arguments.number(request), admin, request)
    return Reply(older.put_status)


async def remove_older(older: _Older, admin: RecordServices, request: Request) -> Reply:
    await _set_older(older, None, admin, request)
    return done()


async def _set_older(
    older: _Older, value: int | None, admin: RecordServices, request: Request
) -> None:
    own = await NAMESPACE.own(admin, request)
    given: dict[str, Any] = {older.field: value}
    offload = replace(own.offload or OffloadPolicies(), **given)
    await NAMESPACE.change(admin, request, offload=offload, **{older.name: value})


def routes() -> Iterator[Route]:
    one = "/admin/v2/persistent/{tenant}/{namespace}/{topic}/offload"
    yield Route("PUT", one, start, Access.TENANT_ADMIN, OfTopic(), takes=(JSON,))
    yield Route("GET", one, show_status, Access.TENANT_ADMIN, OfTopic())
    for scope in (NAMESPACE, *TOPICS):
        removed = {"DELETE": "removeOffloadPolicies"} if scope is NAMESPACE else {}
        yield from routes_at(scope, "offloadPolicies", get, change, remove, **removed)
    for older in _OLDER:
        path = f"{NAMESPACE.path}/{older.path}"
        yield Route("GET", path, partial(get_older, older), Access.TENANT_ADMIN)
        yield Route("PUT", path, partial(change_older, older), Access.TENANT_ADMIN, takes=(JSON,))
        if older.unset is None:
            yield Route("DELETE", path, partial(remove_older, older), Access.TENANT_ADMIN)


SERVICES: Final = RecordServices
ROUTES: Final = tuple(routes())
