"""Plays the clients' side of a recorded conversation against our broker, and compares the answers.

Frames of one connection must come in the recorded order; those of different connections may
overtake each other, as they could then. Where the recording shows that nothing more came, nothing
more may come from us.
"""

import json
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any

import aiohttp
from golden.compare import NOTHING, compare
from golden.conversation import Conversation, Step
from golden.frames import Decoded, decode, join, parse, split
from golden.normal import Names
from golden.rest_results import result_of
from support.loop import until_idle
from support.network import WireConnection

from magnetar.errors import TimedOut
from magnetar.wire import replies

QUIET_MS = 250
ANSWER_TIMEOUT_S = 3.0
MISSING_TIMEOUT_S = 0.2  # For a frame that is known not to come.
ORDER = "(order)"
# The answer to an acknowledgement and what it set free come from two threads in Pulsar.
UNORDERED = {"ACK_RESPONSE", "MESSAGE"}
UNASKED = ("MESSAGE", "ACTIVE_CONSUMER_CHANGE", "CLOSE_CONSUMER", "CLOSE_PRODUCER", "PING")
CLIENT_ACTS = (">", "open", "close", "rest", "ranges")
# Pulsar does not ask the exclusive producers of these whether they are there, and ours does.
ANSWERS_PING = ("access-exclusive", "access-fencing", "access-wait")
# Pulsar sent these before they were due, as differences.json says: we may do so when they are.
LATE_MS = {("delayed", line): 1000 for line in (60, 61, 62, 63)} | {("txn-timeout", 23): 100}
IDENTITY = ("request_id", "consumer_id", "producer_id", "sequence_id")


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where our answer is not theirs. ``field`` is empty for a whole frame."""

    conversation: str
    line: int
    command: str
    field: str
    pulsar: Any
    magnetar: Any

    def __str__(self) -> str:
        place = f"{self.conversation}.jsonl:{self.line} {self.command}"
        field = f" {self.field}" if self.field else ""
        return f"{place}{field}: Pulsar {_shown(self.pulsar)}, Magnetar {_shown(self.magnetar)}"


@dataclass(slots=True)
class Early:
    """A frame that arrived when another was expected."""

    decoded: Decoded
    reported: bool = False


class Link:
    """One of the clients' connections."""

    def __init__(self, wire: WireConnection) -> None:
        self.wire = wire
        self.early: list[Early] = []
        self.overtaken: list[Early] = []  # Those that came before the frame found last.
        self.ended = False

    async def next(self, timeout_s: float) -> Decoded | None:
        frame = await self.wire.receive(timeout_s)
        return None if frame is None else decode(frame)


class Replay:
    """One conversation played once. ``missing``: lines of frames that are known not to come.

    It ends at the first difference that is ``enough``. ``pass_to`` sets the broker's clock to so
    many milliseconds after the start: its delays take as long as they took then, however long we
    take for it. ``behind_proxy`` is the broker's address, where the ports are those of a proxy.
    """

    def __init__(
        self,
        conversation: Conversation,
        broker_port: int,
        web_port: int,
        *,
        missing: Collection[int] = (),
        answer_timeout_s: float = ANSWER_TIMEOUT_S,
        enough: Callable[[Difference], bool] = lambda _: False,
        behind_proxy: str | None = None,
        pass_to: Callable[[int], Awaitable[None]],
    ) -> None:
        self._pass_to = pass_to
        self._enough = enough
        self._behind_proxy = behind_proxy
        self._conversation = conversation
        self._missing = missing
        self._answer_timeout_s = answer_timeout_s
        self._broker_port = broker_port
        self._web = f"http://127.0.0.1:{web_port}"
        self._links: dict[str, Link] = {}
        self._names = Names()
        self.differences: list[Difference] = []

    async def run(self) -> list[Difference]:
        before = 0
        async with aiohttp.ClientSession() as self._http:
            try:
                for step in self._conversation.steps:
                    if any(map(self._enough, self.differences)):
                        return self.differences
                    if step.kind in CLIENT_ACTS and step.ms - before >= QUIET_MS:
                        await self._expect_nothing(step)
                    if step.kind != "note":
                        await self._pass_to(self._when_ms(step))
                        before = step.ms
                    await self._play(step)
                await self._expect_nothing(self._conversation.steps[-1])
            finally:
                for link in self._links.values():
                    link.wire.abort()
        return self.differences

    def _when_ms(self, step: Step) -> int:
        return step.ms + LATE_MS.get((self._conversation.name, step.number), 0)

    async def _play(self, step: Step) -> None:
        if step.kind == "open":
            wire = await WireConnection.open("127.0.0.1", self._broker_port)
            if self._conversation.name in ANSWERS_PING:
                wire.answers[replies.ping()] = replies.pong()
            self._links[step.connection] = Link(wire)
        elif step.kind == ">":
            frame = self._names.rewritten(step.frame)
            self._links[step.connection].wire.send(self._passed_on(frame))
        elif step.kind == "<":
            await self._expect(step)
        elif step.kind == "close":
            self._links[step.connection].wire.close()
            await until_idle()  # The broker, which runs in this loop, has seen it.
        elif step.kind == "closed":
            await self._expect_end(step)
        elif step.kind == "rest":
            await self._request(step)
        elif step.kind == "ranges":
            await self._expect_ranges(step)
        else:
            assert step.kind == "note", f"unknown kind of step: {step.kind}"

    def _passed_on(self, frame: bytes) -> bytes:
        """A frame that a proxy passes on to the broker."""
        command = None if self._behind_proxy is None else parse(frame)
        if command is None or not command.HasField("connect"):
            return frame
        if not command.connect.proxy_to_broker_url:
            command.connect.proxy_to_broker_url = self._behind_proxy
        return join(command.SerializeToString(), split(frame)[1])

    async def _expect(self, step: Step) -> None:
        theirs = decode(step.frame)
        link = self._links[step.connection]
        entry = _entry_id(theirs) if step.number in self._missing else None
        ours = await self._find(link, theirs, self._patience_s(step), entry)
        if ours is None:
            self._report(step, theirs.command, "", theirs.fields, NOTHING)
            return
        for early in link.overtaken:
            if not early.reported and _ordered(early.decoded, theirs):
                early.reported = True
                self._report(step, theirs.command, ORDER, "first", f"after {early.decoded.command}")
        self._names.learn(theirs.fields, ours.fields)
        expected = self._names.translated(theirs)
        for field, pulsar, magnetar in compare(
            self._names.masked(expected).fields, self._names.masked(ours).fields
        ):
            self._report(step, theirs.command, field, pulsar, magnetar)

    def _patience_s(self, step: Step) -> float:
        return MISSING_TIMEOUT_S if step.number in self._missing else self._answer_timeout_s

    async def _find(
        self, link: Link, theirs: Decoded, patience_s: float, entry: int | None
    ) -> Decoded | None:
        """The next frame, or one that arrived before and is what was expected.

        ``entry``: no other entry will do, though it is delivered to the same consumer.
        """

        def expected(ours: Decoded) -> bool:
            return _same_subject(ours, theirs) and entry in (None, _entry_id(ours))

        for at, early in enumerate(link.early):
            if expected(early.decoded):
                link.overtaken = link.early[:at]
                return link.early.pop(at).decoded
        while not link.ended:
            try:
                frame = await link.next(patience_s)
            except TimedOut:
                return None
            if frame is None:
                link.ended = True
            elif expected(frame):
                link.overtaken = list(link.early)
                return frame
            else:
                link.early.append(Early(frame))
        return None

    async def _expect_end(self, step: Step) -> None:
        link = self._links[step.connection]
        while not link.ended:
            try:
                frame = await link.next(self._patience_s(step))
            except TimedOut:
                self._report(step, "(end of connection)", "", "closes the connection", NOTHING)
                return
            if frame is None:
                link.ended = True
            else:
                link.early.append(Early(frame))

    async def _expect_nothing(self, step: Step) -> None:
        await until_idle()
        for name, link in self._links.items():
            while link.wire.waiting:
                frame = await link.next(0)
                assert frame is not None
                link.early.append(Early(frame))
            for early in link.early:
                command, fields = early.decoded
                self._report(step, f"{command} on {name}", "", NOTHING, fields)
            link.early.clear()
            if link.wire.closed and not link.ended:
                link.ended = True

    async def _request(self, step: Step) -> None:
        method, path, body, status, expected, *about = step.rest
        got_status, text = await self._http_request(method, path, body)
        subject = f"{method} {path}"
        if got_status != status:
            self._report(step, subject, "status", status, got_status)
        else:
            for field, pulsar, magnetar in result_of(
                expected, text, self._names, about[0] if about else None
            ):
                self._report(step, subject, field, pulsar, magnetar)

    async def _expect_ranges(self, step: Step) -> None:
        path = f"/admin/v2/persistent/public/default/g-{self._conversation.name}/stats"
        status, text = await self._http_request("GET", path, None)
        ours: dict[str, Any] = {}
        if status == 200:
            for consumer in json.loads(text)["subscriptions"]["s"]["consumers"]:
                ours[consumer["consumerName"]] = consumer.get("keyHashRangeArrays")
        if ours != step.rest[1]:
            self._report(step, "hash ranges", step.rest[0], step.rest[1], ours or status)

    async def _http_request(self, method: str, path: str, body: Any) -> tuple[int, str]:
        data = None if body is None else json.dumps(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        async with self._http.request(
            method, self._web + path, data=data, headers=headers
        ) as response:
            return response.status, await response.text()

    def _report(self, step: Step, command: str, field: str, pulsar: Any, magnetar: Any) -> None:
        self.differences.append(
            Difference(self._conversation.name, step.number, command, field, pulsar, magnetar)
        )


def _ordered(one: Decoded, other: Decoded) -> bool:
    """Whether the order of two frames on a connection is fixed.

    What the broker says unasked about two producers or consumers comes in any order.
    """
    if {one.command, other.command} == UNORDERED:
        return False
    if one.command not in UNASKED or other.command not in UNASKED:
        return True
    return all(one.fields.get(key) == other.fields.get(key) for key in IDENTITY)


def _entry_id(decoded: Decoded) -> int | None:
    place = decoded.fields.get("message_id")
    return place["entryId"] if isinstance(place, dict) else None


def _same_subject(one: Decoded, other: Decoded) -> bool:
    if one.command != other.command:
        return False
    if one.command == "MESSAGE":
        keys: tuple[str, ...] = ("consumer_id",)
    else:
        keys = IDENTITY
    return all(one.fields.get(key) == other.fields.get(key) for key in keys)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 300 else f"{text[:300]}..."
