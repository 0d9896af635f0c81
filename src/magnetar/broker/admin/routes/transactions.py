"""Transactions: their coordinators, what each transaction does, and what it does in topics.

A broker without ``transactionCoordinatorEnabled`` says 404 of what cannot be there without one, a
transaction or a coordinator, and 503 of the rest, in the words of an Apache Pulsar so set.
"""

import asyncio
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.internal_stats import internal_stats
from magnetar.broker.admin.owners import AtOwner
from magnetar.broker.admin.services import TransactionServices
from magnetar.broker.transactions.coordinator import Coordinator, not_found
from magnetar.broker.transactions.coordinators import Coordinators
from magnetar.broker.transactions.transaction import Transaction
from magnetar.errors import MagnetarError, NotFound, SubscriptionNotFound, TopicNotFound
from magnetar.model.system_topics import COORDINATORS
from magnetar.model.txn_id import TxnId
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, shown
from magnetar.rest.router import Query, Route, reads

_ADMINISTRATOR: Final = "an administrator"
OFF: Final = "This Broker is not configured with transactionCoordinatorEnabled=true."


async def coordinators(admin: TransactionServices, _request: Request) -> Reply:
    """Which there are, and which broker serves each."""
    served = _served(admin)
    found = []
    for number in range(await served.count()):
        owner = await served.owner(number)
        url = owner.service_url or owner.service_url_tls
        found.append({"id": number, "brokerServiceUrl": url})
    return shown(found)


@reads(Query("coordinatorId", "integer"))
async def coordinator_stats(admin: TransactionServices, request: Request) -> Reply:
    """What one coordinator does, or each of those that this broker serves."""
    number = arguments.parameter(request, "coordinatorId")
    if number is not None:
        return shown(_coordinator(await _find(admin, number)))
    return shown({str(each.number): _coordinator(each) for each in await _here(admin)})


@reads(Query("metadata", "boolean"))
async def coordinator_internal_stats(admin: TransactionServices, request: Request) -> Reply:
    """The log of a coordinator."""
    log = (await _find(admin, arguments.integer(request, "coordinator"))).log
    info = log.info()
    return shown(
        {
            "transactionLogStats": {
                "managedLedgerName": log.name,
                "managedLedgerInternalStats": internal_stats(info, active=info.cursors),
            }
        }
    )


async def transaction(admin: TransactionServices, request: Request) -> Reply:
    """What is known of a transaction that has not ended."""
    txn_id = _txn_id(request)
    if admin.coordinators is None:
        raise NotFound(f"The transaction with this txdID `{txn_id}`not found: {OFF}")
    coordinator = await _of(admin, txn_id)
    return shown(_transaction(coordinator.find(txn_id)))


@reads(Query("coordinatorId", "integer"))
async def slow(admin: TransactionServices, request: Request) -> Reply:
    """The transactions that have been open for longer than so many milliseconds."""
    longer_ms = arguments.integer(request, "timeout")
    number = arguments.parameter(request, "coordinatorId")
    if admin.coordinators is None:
        return shown({})
    chosen = await _here(admin) if number is None else [await _find(admin, number)]
    now_ms = admin.clock.wall_ms()
    found = {}
    for coordinator in chosen:
        for each in list(coordinator.transactions.values()):
            if now_ms - each.opened_at_ms > longer_ms:
                found[str(each.txn_id)] = _transaction(each)
    return shown(found)


async def abort(admin: TransactionServices, request: Request) -> Reply:
    """Abort a transaction that has not ended, whoever began it."""
    txn_id = _txn_id(request)
    coordinator = await _of(admin, txn_id)
    ended: asyncio.Future[MagnetarError | None] = asyncio.get_running_loop().create_future()

    def answer(error: MagnetarError | None) -> None:
        if not ended.done():  # Who asked may be gone.
            ended.set_result(error)

    coordinator.end(txn_id, _ADMINISTRATOR, answer, commit=False)
    error = await ended
    if error is not None:
        raise error
    return Reply(204)


async def scale(admin: TransactionServices, request: Request) -> Reply:
    """Have more coordinators."""
    count = arguments.number(request)
    if count <= 0 or (admin.coordinators is not None and count <= await _served(admin).count()):
        raise Rejection(
            406,
            "Number of transaction coordinators should be more than the current number of "
            "transaction coordinator",
        )
    await _served(admin).grow(count)
    return Reply(204)


async def of_topic(admin: TransactionServices, request: Request) -> Reply:
    await _find_topic(admin, request)
    raise Rejection(503, OFF)


async def in_buffer(admin: TransactionServices, request: Request) -> Reply:
    """Answer as for a transaction that nobody has heard of."""
    await _find_topic(admin, request)
    return shown({"aborted": False})


async def in_pending_acks(admin: TransactionServices, request: Request) -> Reply:
    await _find_topic(admin, request)
    return shown({})


async def position(admin: TransactionServices, request: Request) -> Reply:
    await _find_topic(admin, request)
    return shown({"state": "NotInPendingAck"})


def _served(admin: TransactionServices) -> Coordinators:
    if admin.coordinators is None:
        raise Rejection(503, OFF)
    return admin.coordinators


def _txn_id(request: Request) -> TxnId:
    return TxnId(*(arguments.integer(request, each) for each in ("most", "least")))


async def _find(admin: TransactionServices, number: int) -> Coordinator:
    """A coordinator that this broker serves, or that nobody did. Raises NotFound, NotOwner."""
    if admin.coordinators is None:
        raise NotFound(f"Transaction coordinator not found! coordinator id : {number}: {OFF}")
    if not 0 <= number < await admin.coordinators.count():
        raise NotFound(f"Transaction coordinator not found! coordinator id : {number}")
    await admin.topics.serve(COORDINATORS.partition(number))
    return await admin.coordinators.connect(number)


async def _of(admin: TransactionServices, txn_id: TxnId) -> Coordinator:
    """The coordinator of a transaction. Raises as ``_find``."""
    served = _served(admin)
    if not 0 <= txn_id.most_bits < await served.count():
        raise not_found(txn_id.most_bits)
    return await _find(admin, txn_id.most_bits)


async def _here(admin: TransactionServices) -> list[Coordinator]:
    """All that this broker serves, or that nobody did."""
    served = _served(admin)
    return [
        await _find(admin, number)
        for number in range(await served.count())
        if await served.owner(number) is admin.owners.ownership.own
    ]


def _coordinator(coordinator: Coordinator) -> dict[str, Any]:
    began_ms, ended_ms = coordinator.recovered_ms
    return {
        "state": "Ready",
        "leastSigBits": coordinator.last_number,
        "lowWaterMark": coordinator.low_watermark,
        "ongoingTxnSize": len(coordinator.transactions),
        "recoverStartTime": began_ms,
        "recoverEndTime": ended_ms,
    }


def _transaction(transaction: Transaction) -> dict[str, Any]:
    acknowledged: dict[str, dict[str, Any]] = {}
    for topic, subscription in transaction.subscriptions:
        acknowledged.setdefault(topic, {})[subscription] = {}
    shown_owner = {} if transaction.owner is None else {"owner": transaction.owner}
    return {
        "txnId": str(transaction.txn_id),
        "status": transaction.status.value,
        "openTimestamp": transaction.opened_at_ms,
        "timeoutAt": transaction.timeout_ms,
        **shown_owner,
        "producedPartitions": {topic: {"aborted": False} for topic in transaction.topics},
        "ackedPartitions": acknowledged,
    }


async def _find_topic(admin: TransactionServices, request: Request) -> None:
    """The topic, and the subscription where there is one. Raises TopicNotFound and the like."""
    name = arguments.topic(request)
    if not await admin.owners.access.exists(name):
        raise TopicNotFound(f"Topic not found {name}")
    if "subscription" in request.segments:
        asked = arguments.subscription(request)
        if asked not in (await admin.owners.access.open(name)).subscriptions:
            raise SubscriptionNotFound(f"{name} not found subscription : {asked}")


_ALL = "/admin/v3/transactions"
_TOPIC = "{tenant}/{namespace}/{topic}"
_SUBSCRIPTION = f"{_TOPIC}/{{subscription}}"
_ID = "{most}/{least}"
SERVICES: Final = TransactionServices
ROUTES: Final = (
    *(
        Route("GET", f"{_ALL}/{path}", handler, Access.SUPERUSER)
        for path, handler in (
            ("coordinators", coordinators),
            ("coordinatorStats", coordinator_stats),
            ("coordinatorInternalStats/{coordinator}", coordinator_internal_stats),
            (f"transactionMetadata/{_ID}", transaction),
            ("slowTransactions/{timeout}", slow),
        )
    ),
    *(
        Route("GET", f"{_ALL}/{path}", handler, Access.TENANT_ADMIN, AtOwner())
        for path, handler in (
            (f"transactionBufferStats/{_TOPIC}", of_topic),
            (f"transactionBufferInternalStats/{_TOPIC}", of_topic),
            (f"pendingAckStats/{_SUBSCRIPTION}", of_topic),
            (f"pendingAckInternalStats/{_SUBSCRIPTION}", of_topic),
            (f"transactionInBufferStats/{_TOPIC}/{_ID}", in_buffer),
            (f"transactionInPendingAckStats/{_SUBSCRIPTION}/{_ID}", in_pending_acks),
            (f"positionStatsInPendingAck/{_SUBSCRIPTION}/{{ledger}}/{{entry}}", position),
        )
    ),
    Route("POST", f"{_ALL}/abortTransaction/{_ID}", abort, Access.SUPERUSER),
    Route(
        "POST", f"{_ALL}/transactionCoordinator/replicas", scale, Access.SUPERUSER, takes=(JSON,)
    ),
)
