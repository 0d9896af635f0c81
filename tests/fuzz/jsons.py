"""JSON with something wrong in it: other types, other numbers, missing parts, too deep, no JSON."""

import json
from copy import deepcopy
from random import Random
from typing import Any

from fuzz.mutate import NUMBERS, Mutator

DEEP = 100_000  # Levels; Python's own parser gives up somewhere above a thousand.
STEPS_MAX = 3
VALUES: tuple[Any, ...] = (
    *(None, True, False, "", "x", "-1", "0x10", "NaN", "\0", "\ud800", "🜁", "z" * 3000),
    *(0, 1, -1, 2**31, -(2**31) - 1, 2**63, 2**64, 10**30, 1.5, -0.0, 1e308),
    *(float("inf"), float("nan"), [], [[]], [None], ["x"], {}, {"": {}}, {"x": [1]}),
)
TEXTS = (
    b"",
    b" ",
    b"null",
    b"nul",
    b"{",
    b"[1,",
    b'{"a":1,"a":2}',
    b'"\xff\xfe"',
    b"\xef\xbb\xbf{}",
    b"\xff\xfe{\0}\0",
    b"1" * 5000,
    b"-" + b"9" * 400,
    b"1e999",
    b"NaN",
    b"[" * DEEP,
    b"[" * 900 + b"]" * 900,
    b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    b'{"a":[' * 300 + b"]}" * 300,
)


class Jsons:
    """Changes JSON documents."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self._mutator = Mutator(chance, [b'{"a":[1,2,{"b":null}]}', b"[0,0]", b'"text"'])

    def mutate(self, text: bytes) -> bytes:
        """Mostly JSON still."""
        way = self.chance.random()
        if way < 0.2:
            return self.chance.choice(TEXTS)
        if way < 0.35:
            return self._mutator.mutate(text)
        try:
            value = json.loads(text)
        except ValueError:
            return self._mutator.mutate(text)
        for _ in range(self.chance.randint(1, STEPS_MAX)):
            value = self._change(value)
        return json.dumps(value).encode(errors="surrogatepass")

    def _change(self, value: Any) -> Any:
        """One place, somewhere below."""
        inner = list(value) if isinstance(value, dict) else range(_length(value))
        if not inner or self.chance.random() < 0.2:
            return self._other(value)
        key = self.chance.choice(list(inner))
        way = self.chance.random()
        if way < 0.15:
            del value[key]
        elif way < 0.25 and isinstance(value, dict):
            value[self.chance.choice(("", "x", "-1", "9" * 30, "1" * 5000))] = value.pop(key)
        elif way < 0.3 and isinstance(value, list):
            value.append(deepcopy(value[key]))
        else:
            value[key] = self._change(value[key])
        return value

    def _other(self, value: Any) -> Any:
        if isinstance(value, int) and self.chance.random() < 0.6:
            return self.chance.choice((value + 1, value - 1, -value, self.chance.choice(NUMBERS)))
        return deepcopy(self.chance.choice(VALUES))


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0
