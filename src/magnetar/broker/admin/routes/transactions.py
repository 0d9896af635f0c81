"""Transactions: their coordinators, what each transaction does, and what it does in topics.

A broker without ``transactionCoordinatorEnabled`` says 404 of what cannot be there without one, a
transaction or a coordinator, and 503 of the rest, in the words of an Apache Pulsar so set.
"""

import asyncio
import json
from typing import Any, Final
from urllib.parse import quote

from magnetar.auth.access import Access
from magnetar.broker.admin.internal_stats import internal_stats
from magnetar.broker.admin.owners import AtOwner, reason_of
from magnetar.broker.admin.services import TransactionServices
from magnetar.broker.topics.subscriptions.persistent_subscription import PersistentSubscription
from magnetar.broker.topics.topic import StoredTopic, storing
from magnetar.broker.transactions.coordinator import Coordinator, not_found
from magnetar.broker.transactions.coordinators import Coordinators
from magnetar.broker.transactions.transaction import Transaction
from magnetar.errors import MagnetarError, NotFound, SubscriptionNotFound, TopicNotFound
from magnetar.model.names import TopicName
from magnetar.model.position import Position
from magnetar.model.system_topics import COORDINATORS
from magnetar.model.txn_id import TxnId
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, shown
from magnetar.rest.router import Query, Route, reads
from magnetar.storage.record_log import RecordLog

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
    """What one coordinator does, or all of them, wherever they are."""
    number = arguments.parameter(request, "coordinatorId")
    if number is not None:
        return shown(_coordinator(await _find(admin, number)))
    every = range(await _served(admin).count())
    return shown({str(each): await _asked(admin, "coordinatorStats", each) for each in every})


@reads(Query("metadata", "boolean"))
async def coordinator_internal_stats(admin: TransactionServices, request: Request) -> Reply:
    """The log of a coordinator."""
    log = (await _find(admin, arguments.integer(request, "coordinator"))).log
    return shown({"transactionLogStats": _log(log)})


async def transaction(admin: TransactionServices, request: Request) -> Reply:
    """What is known of a transaction that has not ended."""
    txn_id = _txn_id(request)
    if admin.coordinators is None:
        raise NotFound(f"The transaction with this txdID `{txn_id}`not found: {OFF}")
    coordinator = await _of(admin, txn_id)
    return shown(await _transaction(admin, coordinator.find(txn_id)))


@reads(Query("coordinatorId", "integer"))
async def slow(admin: TransactionServices, request: Request) -> Reply:
    """The transactions that have been open for longer than so many milliseconds."""
    longer_ms = arguments.integer(request, "timeout")
    number = arguments.parameter(request, "coordinatorId")
    if admin.coordinators is None:
        return shown({})
    found: dict[str, Any] = {}
    if number is None:
        for coordinator_id in range(await admin.coordinators.count()):
            found |= await _asked(admin, f"slowTransactions/{longer_ms}", coordinator_id)
        return shown(found)
    coordinator, now_ms = await _find(admin, number), admin.clock.wall_ms()
    for each in list(coordinator.transactions.values()):
        if now_ms - each.opened_at_ms > longer_ms:
            found[str(each.txn_id)] = await _transaction(admin, each)
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


@reads(Query("lowWaterMarks", "boolean"), Query("segmentStats", "boolean"))
async def buffer_stats(admin: TransactionServices, request: Request) -> Reply:
    """The transactions of a topic: how many, and up to where readers see everything."""
    topic = await _topic(admin, request)
    _served(admin)
    buffer = topic.log.transactions
    marks = {} if buffer is None else buffer.low_watermarks
    return shown(
        {
            "state": "Ready",
            "maxReadPosition": str(topic.log.last_visible),
            "lastSnapshotTimestamps": 0,
            **({"lowWaterMarks": marks} if request.flag("lowWaterMarks") else {}),
            "ongoingTxnSize": 0 if buffer is None else len(buffer.open),
            "recoverStartTime": topic.loaded_at_ms,
            "recoverEndTime": topic.loaded_at_ms,
            "totalAbortedTransactions": 0 if buffer is None else buffer.aborted_count,
            "snapshotType": "Single",
        }
    )


@reads(Query("metadata", "boolean"))
async def buffer_internal_stats(admin: TransactionServices, request: Request) -> Reply:
    """Of what kind its snapshots are."""
    await _topic(admin, request)
    _served(admin)
    return shown({"snapshotType": "Single"})


async def in_buffer(admin: TransactionServices, request: Request) -> Reply:
    """What a transaction does in a topic: where it begins, while it is open."""
    buffer = (await _topic(admin, request)).log.transactions
    found = None if buffer is None else buffer.open.get(_txn_id(request))
    if found is None:
        return shown({"aborted": False})
    return shown({"startPosition": str(found.first), "aborted": False})


@reads(Query("lowWaterMarks", "boolean"))
async def pending_ack_stats(admin: TransactionServices, request: Request) -> Reply:
    """The transactions that acknowledge on a subscription, and have not ended."""
    topic, subscription = await _subscription(admin, request)
    _served(admin)
    acks = subscription.pending_acks
    return shown(
        {
            "state": "None" if acks is None else "Ready",
            **({"lowWaterMarks": {}} if request.flag("lowWaterMarks") else {}),
            "ongoingTxnSize": 0 if acks is None else len(acks.pending.open),
            "recoverStartTime": topic.loaded_at_ms,
            "recoverEndTime": topic.loaded_at_ms,
        }
    )


@reads(Query("metadata", "boolean"))
async def pending_ack_internal_stats(admin: TransactionServices, request: Request) -> Reply:
    """The log of what transactions acknowledge on a subscription."""
    topic, subscription = await _subscription(admin, request)
    acks = subscription.pending_acks
    if acks is None:
        raise NotFound(f"No transaction has acknowledged on {topic.name} {subscription.name}")
    return shown({"pendingAckLogStats": _log(acks.records)})


async def in_pending_acks(admin: TransactionServices, request: Request) -> Reply:
    """Up to where a transaction acknowledges on a subscription, where it is cumulative."""
    _, subscription = await _subscription(admin, request)
    acks = subscription.pending_acks
    found = None if acks is None else acks.pending.open.get(_txn_id(request))
    if found is None or found.upto is None:
        return shown({})
    return shown({"cumulativeAckPosition": str(found.upto)})


@reads(Query("batchIndex", "integer"))
async def position(admin: TransactionServices, request: Request) -> Reply:
    """Whether a message is acknowledged in a transaction that has not ended."""
    topic, subscription = await _subscription(admin, request)
    where = Position(*(arguments.integer(request, each) for each in ("ledger", "entry")))
    index = arguments.parameter(request, "batchIndex")
    acks = subscription.pending_acks
    if not topic.log.pending(subscription, where):
        return shown({"state": "MarkDelete"})
    if acks is None or not acks.pending.concerns(where):
        return shown({"state": "NotInPendingAck"})
    if index is None:
        return shown({"state": "PendingAck"})
    pending = acks.pending.concerns_index(where, index)
    if pending is None:
        return shown({"state": "InvalidPosition"})
    return shown({"state": "PendingAck" if pending else "NotInPendingAck"})


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


async def _asked(admin: TransactionServices, path: str, number: int) -> Any:
    """What the broker of a coordinator says of it by one of these routes. Raises Rejection."""
    request = Request("GET", f"{_ALL}/{path}", {"coordinatorId": str(number)})
    answer = await admin.owners.ask(COORDINATORS.partition(number), request)
    if answer.status != 200:
        raise Rejection(answer.status, reason_of(answer))
    return json.loads(answer.body)


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


async def _transaction(admin: TransactionServices, transaction: Transaction) -> dict[str, Any]:
    most, least = transaction.txn_id
    produced = {
        name: await _of_topic(admin, name, "transactionInBufferStats", f"{most}/{least}")
        for name in transaction.topics
    }
    acknowledged: dict[str, dict[str, Any]] = {}
    for name, subscription in transaction.subscriptions:
        rest = f"{quote(subscription, safe='')}/{most}/{least}"
        acknowledged.setdefault(name, {})[subscription] = await _of_topic(
            admin, name, "transactionInPendingAckStats", rest
        )
    shown_owner = {} if transaction.owner is None else {"owner": transaction.owner}
    return {
        "txnId": str(transaction.txn_id),
        "status": transaction.status.value,
        "openTimestamp": transaction.opened_at_ms,
        "timeoutAt": transaction.timeout_ms,
        **shown_owner,
        "producedPartitions": produced,
        "ackedPartitions": acknowledged,
    }


async def _of_topic(admin: TransactionServices, name: str, route: str, rest: str) -> Any:
    """What the owner of a topic says; ``{}`` where that does not answer, or there is none."""
    topic = TopicName.parse(name)
    path = f"{_ALL}/{route}/{topic.namespace}/{quote(topic.local, safe='')}/{rest}"
    answer = await admin.owners.ask(topic, Request("GET", path))
    return json.loads(answer.body) if answer.status == 200 else {}


async def _topic(admin: TransactionServices, request: Request) -> StoredTopic:
    """Raises TopicNotFound, and NotAllowed for a topic that keeps nothing."""
    name = arguments.topic(request)
    if not await admin.owners.access.exists(name):
        raise TopicNotFound(f"Topic not found {name}")
    return storing(await admin.owners.access.open(name))


async def _subscription(
    admin: TransactionServices, request: Request
) -> tuple[StoredTopic, PersistentSubscription]:
    """Raises SubscriptionNotFound, and as ``_topic``."""
    topic, asked = await _topic(admin, request), arguments.subscription(request)
    found = topic.subscriptions.get(asked)
    if found is None:
        raise SubscriptionNotFound(f"{topic.name} not found subscription : {asked}")
    return topic, found


def _log(log: RecordLog) -> dict[str, Any]:
    info = log.info()
    stats = internal_stats(info, active=info.cursors)
    for of_topics in ("schemaLedgers", "compactedLedger"):
        del stats[of_topics]
    return {"managedLedgerName": log.name, "managedLedgerInternalStats": stats}


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
            (f"transactionBufferStats/{_TOPIC}", buffer_stats),
            (f"transactionBufferInternalStats/{_TOPIC}", buffer_internal_stats),
            (f"pendingAckStats/{_SUBSCRIPTION}", pending_ack_stats),
            (f"pendingAckInternalStats/{_SUBSCRIPTION}", pending_ack_internal_stats),
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
