"""Makes wrong bytes out of right ones. Everything is decided by the ``Random`` it is given."""

from collections.abc import Callable, Sequence
from random import Random

from magnetar.model.varint import varint

NUMBERS = sorted(
    {
        number
        for power in (0, 7, 8, 14, 15, 16, 21, 28, 31, 32, 35, 53, 62, 63, 64)
        for number in ((1 << power) - 1, 1 << power, (1 << power) + 1)
        if number < 1 << 64
    }
    | {0, 2, 3, 5, 10, 100, 1000, 5 * 1024 * 1024, 5 * 1024 * 1024 + 10 * 1024}
)
SPAN_MAX = 64  # Bytes that one step removes, doubles or makes up.
STEPS_MAX = 4


class Mutator:
    """Changes bytes, in one to ``STEPS_MAX`` steps. ``others`` are what pieces are taken from."""

    def __init__(self, chance: Random, others: Sequence[bytes]) -> None:
        self.chance = chance
        self._others = others
        self._steps: list[Callable[[bytearray], None]] = [
            self._flip,
            self._flip,
            self._set_byte,
            self._set_byte,
            self._set_length,
            self._remove,
            self._double,
            self._make_up,
            self._insert_varint,
            self._cut_off,
            self._splice,
            self._swap,
        ]

    def mutate(self, data: bytes) -> bytes:
        """``data`` with something wrong. Now and then it comes out as it was."""
        result = bytearray(data)
        for _ in range(self.chance.randint(1, STEPS_MAX)):
            self.chance.choice(self._steps)(result)
        return bytes(result)

    def garbage(self) -> bytes:
        """Bytes of no origin."""
        return self.chance.randbytes(self.chance.randint(0, 2 * SPAN_MAX))

    def _place(self, data: bytearray) -> int:
        """Often near the beginning: that is where heads and sizes are."""
        end = len(data)
        if end > 24 and self.chance.random() < 0.5:
            end = 24
        return self.chance.randint(0, max(end - 1, 0))

    def _flip(self, data: bytearray) -> None:
        if data:
            data[self._place(data)] ^= 1 << self.chance.randrange(8)

    def _set_byte(self, data: bytearray) -> None:
        if data:
            data[self._place(data)] = self.chance.choice((0, 1, 0x7F, 0x80, 0xFE, 0xFF, 0x0E))

    def _set_length(self, data: bytearray) -> None:
        """A big-endian size, at one of the places where frames and entries have some."""
        at = self.chance.choice((0, 4, self._place(data)))
        size = self.chance.choice(
            (0, 1, 3, 4, 7, 8, len(data), len(data) - 4, len(data) - 5, len(data) + 1)
        )
        if self.chance.random() < 0.3:
            size = self.chance.choice(NUMBERS)
        data[at : at + 4] = (size & 0xFFFF_FFFF).to_bytes(4)

    def _remove(self, data: bytearray) -> None:
        at = self._place(data)
        del data[at : at + self.chance.randint(1, SPAN_MAX)]

    def _double(self, data: bytearray) -> None:
        at = self._place(data)
        span = data[at : at + self.chance.randint(1, SPAN_MAX)]
        data[at:at] = span * self.chance.randint(1, 3)

    def _make_up(self, data: bytearray) -> None:
        at = self._place(data)
        data[at:at] = self.chance.randbytes(self.chance.randint(1, SPAN_MAX))

    def _insert_varint(self, data: bytearray) -> None:
        """A number, as a field of a protobuf message or bare; one may be too long to be one."""
        at = self._place(data)
        number = varint(self.chance.choice(NUMBERS))
        if self.chance.random() < 0.1:
            number = b"\xff" * self.chance.randint(9, 20) + b"\x01"
        tag = varint(self.chance.randint(0, 1 << 10)) if self.chance.random() < 0.5 else b""
        data[at:at] = tag + number

    def _cut_off(self, data: bytearray) -> None:
        del data[self.chance.randint(0, len(data)) :]

    def _splice(self, data: bytearray) -> None:
        """Go on as another one does."""
        other = self.chance.choice(self._others)
        data[self._place(data) :] = other[self.chance.randint(0, len(other)) :]

    def _swap(self, data: bytearray) -> None:
        at, size = self._place(data), self.chance.randint(1, SPAN_MAX)
        first, second = data[at : at + size], data[at + size : at + 2 * size]
        data[at : at + 2 * size] = second + first
