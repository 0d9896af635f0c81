"""A recorded conversation between clients and Apache Pulsar 4.0.7, read from ``wire/*.jsonl``.

One JSON list per line. The second item is the time in ms since the recording began:

    ["what", text]
    ["open", ms, connection]                    a client opens a TCP connection
    [">", ms, connection, hex]                  it sends a frame, or bytes that are none;
    [">", ms, connection, hex, size]            ... filled up with zeros to so many bytes
    ["<", ms, connection, hex]                  the broker sends a frame
    ["close", ms, connection]                   the client closes the connection
    ["closed", ms, connection]                  the broker does
    ["rest", ms, method, path, request, status, result]      admin HTTP, result cut down by whoever
                                                recorded it to what the conversation is about
    ["ranges", ms, text, {consumer: ranges}]    Key_Shared hash ranges, from the topic's stats
    ["note", ms, text]

Commands are told from times: where nothing happened for a while the recorder was waiting, and
nothing more came.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "wire"


@dataclass(frozen=True, slots=True)
class Step:
    number: int  # The line in the file, from 1.
    kind: str
    ms: int
    connection: str = ""
    frame: bytes = b""
    rest: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    name: str
    what: str
    steps: list[Step]


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.jsonl"))


def load(name: str) -> Conversation:
    what, steps = "", []
    for number, line in enumerate((FOLDER / f"{name}.jsonl").read_text().splitlines(), 1):
        kind, *items = json.loads(line)
        if kind == "what":
            what = items[0]
        elif kind in (">", "<"):
            ms, connection, data, *size = items
            frame = bytes.fromhex(data).ljust(size[0] if size else 0, b"\0")
            steps.append(Step(number, kind, ms, connection, frame))
        elif kind in ("open", "close", "closed"):
            steps.append(Step(number, kind, items[0], items[1] or ""))
        else:
            steps.append(Step(number, kind, items[0], rest=tuple(items[1:])))
    return Conversation(name, what, steps)
