"""The state of a function at the broker: a compacted topic, read when it is first asked for.

What an instance changes is written before the position on its inputs moves. So after a crash:

    ATLEAST_ONCE      the inputs since the last acknowledgement count again
    ATMOST_ONCE       the changes of the inputs under way are lost
    EFFECTIVELY_ONCE  each input counts once: the position is in the state, and inputs that it has
                      are passed over
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from threading import Event
from urllib.parse import quote

from magnetar.client import blocking
from magnetar.client.admin_api import AdminApi
from magnetar.client.message import Message
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import InvalidValue, TopicNotFound
from magnetar.functions.config import FunctionConfig, ProcessingGuarantees
from magnetar.functions.state import FunctionState, Record
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.model.subscriptions import InitialPosition

log = logging.getLogger(__name__)

COMPACTION_THRESHOLD_BYTES = 1 << 20
_RUN = 10_000
_HOLDER = "function-state"
"""A subscription without consumers, which keeps the topic's messages."""
_COMPACTION_CHECKS = 100
_COMPACTION_PAUSE_S = 0.1


class StateTopic:
    """The state of one instance. It reads, and makes, the topic when that is first needed."""

    def __init__(
        self,
        client: blocking.Client,
        config: FunctionConfig,
        instance_id: int,
        *,
        admin: AdminApi | None = None,
    ) -> None:
        """With ``admin`` the topic is compacted; without, it grows with each change."""
        self._client = client
        self._topic = config.state_topic
        self._admin = admin
        self._once = config.processing_guarantees is ProcessingGuarantees.EFFECTIVELY_ONCE
        self._shared = config.parallelism > 1
        self._state = FunctionState(
            str(instance_id), commits=self._once, writers=config.parallelism
        )
        self._reader: blocking.Reader | None = None
        self._producer: blocking.Producer | None = None
        self._followed = False

    def state(self) -> FunctionState:
        """The state, with what other instances had written when it was asked for after a write."""
        if self._producer is None:
            self._open()
        elif self._reader is not None and not self._followed:
            self._state.apply(_records(self._reader.receive_many(_RUN, 0.0)))
            self._followed = True
        return self._state

    def positions(self) -> Mapping[str, str]:
        """How far the inputs are by the state, where it has commits. Creates nothing."""
        if self._once and self._producer is None and _exists(self._client, self._topic):
            self._open()
        return self._state.positions

    def write(self, positions: Mapping[str, str], txn: blocking.Transaction | None = None) -> None:
        """Return when what was changed is stored; ``positions`` are how far inputs are then."""
        self._followed = False
        records = self._state.changes(positions)
        if records:
            assert self._producer is not None, "what was changed was opened before"
            self._producer.send_many([_message(record) for record in records], txn=txn)

    def close(self) -> None:
        for each in (self._reader, self._producer):
            if each is not None:
                each.close()

    def _open(self) -> None:
        _keep(self._client, self._topic, self._admin)
        self._producer = self._client.create_producer(self._topic, send_timeout_s=0)
        self._reader = self._client.create_reader(
            self._topic, EARLIEST_MESSAGE, read_compacted=True, receiver_queue_size=_RUN
        )
        _read_all(self._reader, self._state)
        self._state.recover()
        if not self._shared:
            self._reader.close()
            self._reader = None


def read_state(client: blocking.Client, config: FunctionConfig) -> FunctionState:
    """The state of a function as it is now, for who looks at it. Empty when it has none."""
    found = FunctionState("", commits=False)
    topic = config.state_topic
    if _exists(client, topic):
        with client.create_reader(topic, EARLIEST_MESSAGE, read_compacted=True) as reader:
            _read_all(reader, found)
    return found


def put_state(
    client: blocking.Client,
    config: FunctionConfig,
    key: str,
    value: bytes,
    *,
    admin: AdminApi | None = None,
) -> None:
    """Set a value of a function's state; a single instance that runs sees it when it starts again.

    Raises InvalidValue for EFFECTIVELY_ONCE, whose state is made by its inputs alone.
    """
    if config.processing_guarantees is ProcessingGuarantees.EFFECTIVELY_ONCE:
        raise InvalidValue(f"{config.fqfn} is EFFECTIVELY_ONCE: only its inputs change its state")
    topic = config.state_topic
    _keep(client, topic, admin)
    state = FunctionState("", commits=False)
    state.put(key, value)
    with client.create_producer(topic) as producer:
        producer.send_many([_message(record) for record in state.changes()])


def _exists(client: blocking.Client, topic: str) -> bool:
    try:
        client.partitions(topic)
    except TopicNotFound:
        return False
    return True


def _keep(client: blocking.Client, topic: str, admin: AdminApi | None) -> None:
    """Have the broker keep what is written, from the first message on.

    A subscription does so, and never lets go. Compaction has a cursor that does so too, and lets go
    of what was compacted, once something was.
    """
    if _exists(client, topic):
        return
    holder = client.subscribe(topic, _HOLDER, initial_position=InitialPosition.EARLIEST)
    if admin is None:
        holder.close()
        return
    name = TopicName.parse(topic)
    local = quote(name.local, safe="")
    path = f"/admin/v2/persistent/{name.tenant}/{name.namespace_local}/{local}"
    admin.send("POST", f"{path}/compactionThreshold", COMPACTION_THRESHOLD_BYTES)
    with client.create_producer(topic) as producer:
        producer.send(b"1", key="version")
    admin.send("PUT", f"{path}/compaction")
    for _ in range(_COMPACTION_CHECKS):
        if admin.get(f"{path}/compaction")["status"] == "SUCCESS":
            holder.unsubscribe()
            return
        Event().wait(_COMPACTION_PAUSE_S)  # Nobody tells that a topic was compacted.
    holder.close()
    log.warning("function.state_not_compacted topic=%s: it grows with each change", topic)


def _message(record: Record) -> OutgoingMessage:
    return OutgoingMessage(
        record.value or b"",
        key=record.key,
        properties=dict(record.properties),
        null_value=record.value is None,
    )


def _read_all(reader: blocking.Reader, state: FunctionState) -> None:
    while reader.has_message_available():
        state.apply(_records(reader.receive_many(_RUN, 10.0)))


def _records(messages: Iterable[Message[bytes]]) -> Iterator[Record]:
    for message in messages:
        if message.key is not None:
            value = None if message.null_value else message.data
            yield Record(message.key, value, message.properties)
