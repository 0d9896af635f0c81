"""Answers with very many parts, which are written in turns: others are served in between."""

import json
from collections.abc import Iterator
from typing import Any, Final

from magnetar.rest.exchange import JSON, Reply
from magnetar.turns import batches, yield_to_loop

PARTS: Final = 100
"""So many parts of a value are written at once, if they have few parts themselves."""
CHARACTERS_PER_TURN: Final = 20_000


async def shown_in_turns(value: Any) -> Reply:
    """A value as JSON, like ``shown``."""
    pieces, size = [], 0
    for piece in json_pieces(value):
        pieces.append(piece)
        size += len(piece)
        if size > CHARACTERS_PER_TURN:
            size = 0
            await yield_to_loop()
    return Reply(200, "".join(pieces).encode(), JSON)


def json_pieces(value: Any) -> Iterator[str]:
    """JSON in pieces none of which has many parts. Pure."""
    if isinstance(value, dict) and _large(value):
        for index, (key, item) in enumerate(value.items()):
            yield f"{',' if index else '{'}{_json(key)}:"
            yield from json_pieces(item)
        yield "}"
    elif isinstance(value, list) and _large(value):
        for index, some in enumerate(batches(value, PARTS)):
            yield f"{',' if index else '['}{_json(some)[1:-1]}"
        yield "]"
    else:
        yield _json(value)


def _large(value: Any) -> bool:
    if not isinstance(value, dict | list):
        return False
    parts = value.values() if isinstance(value, dict) else value
    return len(parts) > PARTS or any(map(_large, parts))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
