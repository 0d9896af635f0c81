"""Target: the admin API and HTTP lookup. A status below 500, or 503, and soon.

Requests that were recorded, in their order, so that what they are about exists; each with another
method, path, header or body, or as bytes that are hardly HTTP any more.
"""

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from urllib.parse import quote

from fuzz.jsons import Jsons
from fuzz.mutate import Mutator

EXCHANGES = Path(__file__).parents[1] / "golden" / "admin" / "exchanges.jsonl"
ANSWER_TIMEOUT_S = 20.0
TRY_AGAIN = "503"  # As while somebody else moves the same subscription.
UNFINISHED_S = 0.005
SLOW_PIECES = 3
METHODS = (
    "GET",
    "PUT",
    "POST",
    "DELETE",
    "HEAD",
    "OPTIONS",
    "PATCH",
    "TRACE",
    "get",
    "PRI",
    "X" * 99,
)
SEGMENTS = (
    *("", ".", "..", "%", "%0", "%00", "%2F", "%2f..%2F", "%FF%FE", "%C0%80", "%25252F", "%0d%0a"),
    *("\xff", "🜁", "a b", "?", "#", "*", "-1", "1e3", "9" * 30, "9" * 5000, "x" * 9000, "\\"),
    *("public", "default", "golden", "topics", "data", "persistent", "earliest", "partitions"),
    *("t-partition-0", "t-partition-" + "9" * 30, "t-partition-" + "9" * 5000, "__change_events"),
)
QUERIES = (
    *("", "force=true", "force=", "&&&=", "a" * 9000, "mode=%FF", "mode=ALL", "authoritative=x"),
    *("getPreciseBacklog=true", "checkAllowAutoCreation=true", "%00=%00", "bundle=0x00_0xff"),
)
HEADERS = (
    *("Accept: text/html", "Accept: application/json;q=zz,,,", "Accept: " + "*/*," * 500),
    *("Content-Type: application/json", "Content-Type: text/plain", "Content-Type: ;;;"),
    *("Content-Type: application/vnd.partitioned-topic-metadata+json", "Expect: 100-continue"),
    *("Expect: nothing", "Content-Encoding: gzip", "Content-Encoding: deflate", "Host: "),
    *("Connection: Upgrade", "Upgrade: websocket", "Connection: close", "Cookie: a=\x01b"),
    *("X-Long: " + "y" * 9000, "X\xff: y", "No colon", "Range: bytes=0-", ": empty"),
)
CHUNKS = (
    b"zz\r\n",
    b"FFFFFFFFFFFFFFFFF\r\nx\r\n",
    b"-1\r\n\r\n",
    b"5;a=b\r\nhello\r\n",
    b"0\r\n\r\n",
)
BIG_BODY = 3 * 1024 * 1024
TOPICS = "/admin/v2/persistent/golden/topics"
SETUP = (  # What the recorded requests are about; again and again, since others delete it.
    (
        "PUT",
        "/admin/v2/tenants/golden",
        b'{"adminRoles":[],"allowedClusters":["standalone"]}',
        None,
    ),
    ("PUT", "/admin/v2/namespaces/golden/topics", b"{}", None),
    ("PUT", "/admin/v2/namespaces/golden/ex", b"{}", None),
    ("PUT", f"{TOPICS}/data", b"", None),
    ("PUT", f"{TOPICS}/p3/partitions", b"3", None),
    ("PUT", f"{TOPICS}/data/subscription/s-earliest", b'"earliest"', None),
    ("PUT", f"{TOPICS}/data/subscription/sub-shared", b'"latest"', None),
)
SETUP_EVERY = 60  # requests


@cache
def recorded() -> tuple[tuple[str, str, bytes, str | None], ...]:
    """Method, path, body and content type, as an administrator once sent them."""
    found = []
    for line in EXCHANGES.read_text().splitlines():
        one = json.loads(line)
        body = one.get("request_body", "").encode()
        found.append((one["method"], one["path"], body, one.get("request_content_type")))
    return tuple(found)


@dataclass(slots=True)
class WebTally:
    """What was answered, by status; and what should not have been."""

    requests: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Sent:
    """A request as bytes. ``whole``: it says where it ends, so there must be an answer."""

    data: bytes
    whole: bool
    method: str


class WebAttacker:
    """Request after request, all decided by ``seed``."""

    def __init__(self, port: int, seed: int, tally: WebTally) -> None:
        self.chance = Random(seed)
        self._port = port
        self._tally = tally
        self._jsons = Jsons(self.chance)
        self._mutator = Mutator(self.chance, [b"GET / HTTP/1.1\r\n\r\n", *CHUNKS])
        self._next = 0

    async def attack(self, requests: int) -> None:
        """Until all together have sent so many."""
        while self._tally.requests < requests:
            sent = self._request()
            self._tally.requests += 1
            try:
                async with asyncio.timeout(ANSWER_TIMEOUT_S):
                    status = await self._ask(sent)
            except TimeoutError:
                status = "no answer"
                self._tally.findings.append(f"no answer to {sent.data[:300]!r}")
            self._tally.statuses[status] += 1
            if status[0] == "5" and status != TRY_AGAIN:
                self._tally.findings.append(f"{status} to {sent.data[:600]!r}")

    async def _ask(self, sent: Sent) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            await self._write(writer, sent.data)
            if not sent.whole:
                await asyncio.sleep(UNFINISHED_S)  # Time to read and answer; then it must let go.
                writer.write_eof()
            status, length = await _answer_head(reader)
            if length and sent.method != "HEAD":
                await reader.readexactly(length)
        except (OSError, asyncio.IncompleteReadError):
            return "closed"
        else:
            return status
        finally:
            writer.transport.abort()

    async def _write(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        """At once, or bit by bit."""
        if self.chance.random() < 0.9:
            writer.write(data)
            return
        step = max(len(data) // SLOW_PIECES, 1)
        for at in range(0, len(data), step):
            writer.write(data[at : at + step])
            await asyncio.sleep(0.001)

    def _request(self) -> Sent:
        turn, place = divmod(self._next, SETUP_EVERY)
        self._next += 1
        setting_up = place < len(SETUP)
        at = turn * (SETUP_EVERY - len(SETUP)) + place - len(SETUP)
        method, path, body, kind = SETUP[place] if setting_up else recorded()[at % len(recorded())]
        if setting_up or self.chance.random() < 0.2:
            return self._sent(method, path, body, [f"Content-Type: {kind or 'application/json'}"])
        headers = [f"Content-Type: {kind or 'application/json'}"]
        if self.chance.random() < 0.2:
            method = self.chance.choice(METHODS)
        if self.chance.random() < 0.5:
            path = self._other_path(path)
        if self.chance.random() < 0.5:
            body = self._other_body(body)
        if self.chance.random() < 0.3:
            headers += self.chance.choices(HEADERS, k=self.chance.choice((1, 2, 150)))
        if self.chance.random() < 0.1:
            return self._chunked(method, path, body, headers)
        sent = self._sent(method, path, body, headers)
        if self.chance.random() < 0.15:
            sent = Sent(self._mutator.mutate(sent.data), whole=False, method="HEAD")
        return sent

    def _sent(self, method: str, path: str, body: bytes, headers: list[str]) -> Sent:
        head = self._head(method, path, [*headers, f"Content-Length: {len(body)}"])
        whole = not any(header.startswith(("Expect", "Connection", "Upg")) for header in headers)
        return Sent(head + body, whole=whole, method=method)

    def _chunked(self, method: str, path: str, body: bytes, headers: list[str]) -> Sent:
        pieces = [f"{len(body):x}\r\n".encode() + body + b"\r\n"] if body else []
        pieces += self.chance.choices(CHUNKS, k=self.chance.randint(0, 3))
        head = self._head(method, path, [*headers, "Transfer-Encoding: chunked"])
        return Sent(head + b"".join(pieces) + b"0\r\n\r\n", whole=False, method=method)

    def _head(self, method: str, path: str, headers: list[str]) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", errors="surrogateescape")

    def _other_path(self, path: str) -> str:
        path, _, query = path.partition("?")
        parts = path.split("/")
        for _ in range(self.chance.randint(1, 2)):
            segment = self.chance.choice(SEGMENTS)
            if self.chance.random() < 0.3:
                segment = quote(segment)
            at = self.chance.randrange(len(parts))
            if self.chance.random() < 0.8:
                parts[at] = segment
            else:
                parts.insert(at, segment)
        if self.chance.random() < 0.3:
            query = self.chance.choice(QUERIES)
        return "/".join(parts) + (f"?{query}" if query else "")

    def _other_body(self, body: bytes) -> bytes:
        way = self.chance.random()
        if way < 0.02:
            return b'"' + b"x" * BIG_BODY + b'"'
        if way < 0.1:
            return self.chance.choice(_bodies())
        return self._jsons.mutate(body or b"{}")


@cache
def _bodies() -> tuple[bytes, ...]:
    return tuple(sorted({body for _, _, body, _ in recorded()}))


async def _answer_head(reader: asyncio.StreamReader) -> tuple[str, int]:
    """The status, and how many bytes follow."""
    line = await reader.readline()
    if not line:
        return "closed", 0
    length = 0
    while (header := (await reader.readline()).strip()) != b"":
        name, _, value = header.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    words = line.split()
    status = words[1].decode() if len(words) > 1 else f"500 instead of a status: {line!r}"
    if status == "100":
        return await _answer_head(reader)
    return status, length
