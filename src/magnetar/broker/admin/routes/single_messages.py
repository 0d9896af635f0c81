"""Single messages: by their ids, by their places in a topic or a backlog, by time.

As in Pulsar those of transactions are among them, committed or not: the headers say which it is.
"""

from functools import partial
from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin import message_headers
from magnetar.broker.admin.owners import OfTopic
from magnetar.broker.admin.routes.subscriptions import found_in
from magnetar.broker.admin.services import TopicServices
from magnetar.broker.topics.log.topic_log import TopicLog
from magnetar.broker.topics.topic import StoredTopic
from magnetar.model.position import EARLIEST, Position
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, OCTETS, Reply, Request, shown
from magnetar.rest.router import ANY, Query, Route, reads


async def by_id(admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """An entry by the id of its ledger and its own."""
    at = Position(arguments.integer(request, "ledger"), arguments.integer(request, "entry"))
    log = topic.log
    last_entry_id = log.last_entry_id(at.ledger_id)
    if last_entry_id is None or at.entry_id < 0:
        raise Rejection(404, "Message id not found")
    if at.entry_id > last_entry_id:
        raise Rejection(404, f"Message id not found: ledger {at.ledger_id} ends at {last_entry_id}")
    return await _message(admin, request, log, at)


async def peek(admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """An entry of a subscription's backlog, 1 for its first. Nothing is acknowledged."""
    number = arguments.integer(request, "position")
    if number < 1:
        raise Rejection(
            400, f"The entries of a backlog are counted from 1, so there is no {number}"
        )
    log = topic.log
    at = await log.unacknowledged(found_in(topic, request), number - 1)
    if at is None:
        raise Rejection(404, "Message not found")
    return await _message(admin, request, log, at)


@reads(Query("initialPosition"), Query("messagePosition", "integer"))
async def examine(admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """An entry counted from the first of a topic, or from the last; 1 is that one itself."""
    number = max(arguments.parameter(request, "messagePosition") or 1, 1)
    log = topic.log
    if not log.entry_count:
        raise Rejection(412, "Could not examine messages due to the total message is zero")
    first = request.query.get("initialPosition") == "earliest"
    index = number - 1 if first else log.entry_count - number
    return await _message(admin, request, log, log.entry_at(index))


async def id_at_time(_admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """The id of the first message published at a time (ms) or later; else of the next one."""
    time_ms = arguments.integer(request, "timestamp")
    return shown(message_id(await topic.log.position_at(time_ms), topic.name.partition_index))


def message_id(position: Position, partition: int, batch_index: int = -1) -> dict[str, int]:
    """The id of a message as JSON."""
    return {
        "ledgerId": position.ledger_id,
        "entryId": position.entry_id,
        "partitionIndex": partition,
        "batchIndex": batch_index,
        "batchSize": 0,
    }


async def _message(admin: TopicServices, request: Request, log: TopicLog, at: Position) -> Reply:
    entry = await log.entry(at)
    if entry is None:
        raise Rejection(404, "Message id not found: it was deleted meanwhile")
    # Pulsar's type is what the client asks for, whatever the message is.
    kind = OCTETS if request.accepts(OCTETS) and not request.accepts(JSON) else JSON
    body = message_headers.payload(entry, size_max=admin.message_size_max)
    headers = message_headers.headers(
        at, entry, aborted=log.is_aborted(at), uncommitted=at > log.last_visible
    )
    return Reply(200, body, kind, headers)


_ONE: Final = "/admin/v2/persistent/{tenant}/{namespace}/{topic}"
SERVICES: Final = TopicServices
ROUTES: Final = (
    Route(
        "GET",
        f"{_ONE}/ledger/{{ledger}}/entry/{{entry}}",
        by_id,
        Access.CONSUME,
        OfTopic("GetMessageById is not allowed on partitioned-topic"),
        gives=ANY,
    ),
    Route(
        "GET",
        f"{_ONE}/subscription/{{subscription}}/position/{{position}}",
        peek,
        Access.CONSUME,
        OfTopic("Peek messages on a partitioned topic is not allowed"),
        gives=ANY,
    ),
    Route(
        "GET",
        f"{_ONE}/examinemessage",
        examine,
        Access.CONSUME,
        OfTopic(
            "Examine messages on a partitioned topic is not allowed, please try examine message on "
            "specific topic partition"
        ),
        gives=ANY,
    ),
    Route(
        "GET",
        f"{_ONE}/messageid/{{timestamp}}",
        id_at_time,
        Access.CONSUME,
        OfTopic(
            "Get message ID by timestamp on a partitioned topic is not allowed, please try do it "
            "on specific topic partition"
        ),
        answer=partial(message_id, EARLIEST, -1),
    ),
)
