"""A small broker for the client's tests: our own wire room over a real socket, and a script.

It answers everything in the plainest way that works, keeps what is sent, delivers what is stored,
and can be told to answer a command otherwise (``script``), to hang up and to throw out.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from support.loop import until

from magnetar.client.consumers.receiver import Receiver
from magnetar.errors import MagnetarError
from magnetar.message.metadata import message_count
from magnetar.message.send_run import SendRun
from magnetar.model.position import Position
from magnetar.wire import replies
from magnetar.wire.commands import BaseCommand
from magnetar.wire.frames import Frame, FrameDecoder

LEDGER = 7


class PeerConnection:
    """One client's connection, as the peer sees it."""

    def __init__(self, peer: "Peer", writer: asyncio.StreamWriter) -> None:
        self.peer = peer
        self.writer = writer
        self.permits: Counter[int] = Counter()
        self.subscribed: dict[int, int] = {}  # consumer id -> next entry to deliver

    def write(self, *frames: bytes) -> None:
        self.writer.write(b"".join(frames))

    def receipts(self, run: SendRun) -> None:
        for sequence, data, checksum in zip(run.sequences, run.data, run.checksums, strict=True):
            entry_id = len(self.peer.entries)
            self.peer.entries.append((data, checksum))
            self.peer.sequences.append(sequence)
            receipt = replies.send_receipt(run.producer_id, sequence, LEDGER, entry_id)
            self.write(receipt)

    def deliver(self, consumer_id: int, **fields) -> None:
        """Send what the permits allow."""
        while (
            self.permits[consumer_id] > 0
            and consumer_id in self.subscribed
            and self.subscribed[consumer_id] < len(self.peer.entries)
        ):
            entry_id = self.subscribed[consumer_id]
            self.subscribed[consumer_id] += 1
            self.permits[consumer_id] -= message_count(self.peer.entries[entry_id][0])
            self.message(consumer_id, entry_id, **fields)

    def message(self, consumer_id: int, entry_id: int, **fields) -> None:
        data, checksum = self.peer.entries[entry_id]
        position = Position(LEDGER, entry_id)
        self.write(
            *replies.message(
                consumer_id, position, partition=-1, entry=data, checksum=checksum, **fields
            )
        )

    def reader_paused(self) -> None:
        """Take nothing more from the socket."""
        self.writer.transport.pause_reading()

    def drop(self) -> None:
        """Hang up, as a broker that dies."""
        self.writer.transport.abort()


Script = Callable[[PeerConnection, Frame], None]


class Peer:
    """The broker. ``commands`` are all that came, by type; ``entries`` what was stored."""

    def __init__(self) -> None:
        self.commands: list[BaseCommand] = []
        self.runs: list[SendRun] = []
        self.entries: list[tuple[bytes, int]] = []
        self.sequences: list[int] = []
        self.partitions = 0
        self.topics = ["persistent://public/default/b", "persistent://public/default/a"]
        self.message_size_max = 5 << 20
        self.connections: list[PeerConnection] = []
        self.mark = Position(LEDGER, -1)
        self.on_run: Callable[[PeerConnection, SendRun], None] = PeerConnection.receipts
        self._scripts: dict[int, list[Script]] = {}
        self._always: dict[int, Script] = {
            BaseCommand.CONNECT: lambda c, _: c.write(self.hello()),
            BaseCommand.LOOKUP: self._lookup,
            BaseCommand.PARTITIONED_METADATA: self._metadata,
            BaseCommand.PRODUCER: self._producer,
            BaseCommand.SUBSCRIBE: self._subscribe,
            BaseCommand.FLOW: self._flow,
            BaseCommand.GET_LAST_MESSAGE_ID: self._last,
            BaseCommand.PING: lambda c, _: c.write(replies.pong()),
            BaseCommand.CLOSE_PRODUCER: _succeed("close_producer"),
            BaseCommand.CLOSE_CONSUMER: self._close_consumer,
            BaseCommand.UNSUBSCRIBE: _succeed("unsubscribe"),
            BaseCommand.SEEK: self._seek,
            BaseCommand.GET_TOPICS_OF_NAMESPACE: self._topics,
            BaseCommand.WATCH_TOPIC_LIST: self._watch,
            BaseCommand.WATCH_TOPIC_LIST_CLOSE: _succeed("watchTopicListClose"),
        }
        self._names = itertools.count()
        self._server: asyncio.Server | None = None
        self._port = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        return f"pulsar://{self.address}"

    def hello(self) -> bytes:
        """The CONNECTED."""
        return replies.connected("Peer", 21, self.message_size_max)

    async def start(self) -> None:
        """Listen, on the same port as before after a ``stop``."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for connection in self.connections:
            connection.drop()
        self.connections.clear()
        await self._server.wait_closed()

    def script(self, kind: int, *scripts: Script) -> None:
        """The next commands of this type are answered by these, in order; then as always."""
        self._scripts.setdefault(kind, []).extend(scripts)

    def as_always(self, connection: PeerConnection, frame: Frame) -> None:
        """Answer in the plainest way; also for a script that lets some commands pass."""
        kind = frame.command.type
        if kind in self._always:
            self._always[kind](connection, frame)

    def of(self, kind: int) -> list[BaseCommand]:
        return [command for command in self.commands if command.type == kind]

    async def saw(self, kind: int, count: int = 1) -> BaseCommand:
        """Wait until ``count`` commands of a type have come; the last of them."""
        await until(lambda: len(self.of(kind)) >= count)
        return self.of(kind)[count - 1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = PeerConnection(self, writer)
        self.connections.append(connection)
        decoder = FrameDecoder()
        with suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                for frame in decoder.feed(data):
                    self._handle(connection, frame)
        writer.close()
        if connection in self.connections:
            self.connections.remove(connection)

    def _handle(self, connection: PeerConnection, frame: Frame | SendRun) -> None:
        if isinstance(frame, SendRun):
            self.runs.append(frame)
            self.on_run(connection, frame)
            for each in self.connections:
                for consumer_id in each.subscribed:
                    each.deliver(consumer_id)
            return
        kind = frame.command.type
        self.commands.append(frame.command)
        if self._scripts.get(kind):
            self._scripts[kind].pop(0)(connection, frame)
        else:
            self.as_always(connection, frame)

    def _lookup(self, connection: PeerConnection, frame: Frame) -> None:
        asked = frame.command.lookupTopic.request_id
        connection.write(replies.lookup_connect(asked, self.url))

    def _metadata(self, connection: PeerConnection, frame: Frame) -> None:
        asked = frame.command.partitionMetadata
        count = 0 if "-partition-" in asked.topic else self.partitions
        connection.write(replies.partitioned_metadata(asked.request_id, count))

    def _producer(self, connection: PeerConnection, frame: Frame) -> None:
        asked = frame.command.producer
        name = asked.producer_name or f"peer-{next(self._names)}"
        connection.write(replies.producer_success(asked.request_id, name))

    def _subscribe(self, connection: PeerConnection, frame: Frame) -> None:
        asked = frame.command.subscribe
        start = self.mark.entry_id + 1
        if asked.HasField("start_message_id"):
            entry_id = asked.start_message_id.entryId
            start = 0 if entry_id >= 1 << 63 else min(entry_id, len(self.entries))
        connection.subscribed[asked.consumer_id] = start
        connection.permits[asked.consumer_id] = 0
        connection.write(replies.success(asked.request_id))

    def _flow(self, connection: PeerConnection, frame: Frame) -> None:
        asked = frame.command.flow
        connection.permits[asked.consumer_id] += asked.messagePermits
        connection.deliver(asked.consumer_id)

    def _last(self, connection: PeerConnection, frame: Frame) -> None:
        last = Position(LEDGER, len(self.entries) - 1) if self.entries else Position(-1, -1)
        count = message_count(self.entries[-1][0]) if self.entries else 1
        asked = frame.command.getLastMessageId.request_id
        index = count - 1 if count > 1 else -1
        connection.write(
            replies.last_message_id(asked, last, partition=-1, batch_index=index, mark=self.mark)
        )

    def _close_consumer(self, connection: PeerConnection, frame: Frame) -> None:
        asked = frame.command.close_consumer
        connection.subscribed.pop(asked.consumer_id, None)
        connection.write(replies.success(asked.request_id))

    def _seek(self, connection: PeerConnection, frame: Frame) -> None:
        asked = frame.command.seek
        entry_id = asked.message_id.entryId
        self.mark = Position(LEDGER, -1 if entry_id >= 1 << 63 else entry_id - 1)
        connection.subscribed.pop(asked.consumer_id)
        connection.write(
            replies.close_consumer(asked.consumer_id), replies.success(asked.request_id)
        )

    def _topics(self, connection: PeerConnection, frame: Frame) -> None:
        asked = frame.command.getTopicsOfNamespace.request_id
        connection.write(replies.topics_of_namespace(asked, self.topics, topics_hash="0"))

    def _watch(self, connection: PeerConnection, frame: Frame) -> None:
        asked = frame.command.watchTopicList
        connection.write(
            replies.watch_topic_list_success(
                asked.request_id, asked.watcher_id, self.topics, topics_hash="0"
            )
        )


def _succeed(field: str) -> Script:
    def answer(connection: PeerConnection, frame: Frame) -> None:
        connection.write(replies.success(getattr(frame.command, field).request_id))

    return answer


def refuse(field: str, error: MagnetarError) -> Script:
    """Answer with an error."""

    def answer(connection: PeerConnection, frame: Frame) -> None:
        connection.write(replies.error(getattr(frame.command, field).request_id, error))

    return answer


def silence(_: PeerConnection, __: Frame) -> None:
    """Do not answer."""


def hang_up(connection: PeerConnection, _: Frame) -> None:
    """Close the connection instead of answering."""
    connection.drop()


async def lose_connection(peer: Peer, receiver: Receiver) -> None:
    """Cut its client off, and wait until it has noticed."""
    peer.connections[0].drop()
    await until(lambda: not receiver.connected)
