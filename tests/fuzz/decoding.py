"""Target: the decoder of frames. Whatever comes, it gives frames or a ProtocolError."""

from collections.abc import Iterator
from itertools import groupby, pairwise
from random import Random

from fuzz import corpus
from fuzz.commands import Commands
from fuzz.mutate import Mutator
from properties.test_wire_acks import told
from properties.test_wire_frames import one_by_one

from magnetar.errors import ProtocolError
from magnetar.message.send_run import SendRun
from magnetar.wire.frames import BIG_FRAME_SIZE, FRAME_SIZE_MAX, FrameDecoder, decode

SMALL_FRAME_MAX = 64 * 1024  # The limit of some decoders, so that big frames meet it too.


class Streams:
    """Endless bytes as a peer might send them, mostly not quite right."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        frames = corpus.to_broker() + corpus.to_client()
        self._frames = frames
        self._mutator = Mutator(self.chance, frames)
        self._commands = Commands(self.chance, self._mutator)

    def next(self) -> tuple[bytes, int]:
        """Bytes, and about how many frames were put into them."""
        count = self.chance.choice((1, 1, 2, 3, 8))
        return b"".join(self._frame() for _ in range(count)), count

    def _frame(self) -> bytes:
        way = self.chance.random()
        if way < 0.1:
            return self._commands.any()
        frame = self.chance.choice(self._frames)
        if way < 0.2:
            return frame
        if way < 0.3:
            return self._commands.altered(frame)
        if way < 0.35:
            return self._mutator.garbage()
        return self._mutator.mutate(frame)


def check(data: bytes, chance: Random) -> str:
    """Decode in whole, in parts, and plainly: all must say the same. How it ended."""
    limit = chance.choice((FRAME_SIZE_MAX, SMALL_FRAME_MAX))
    whole = outcome(in_parts(data, [0, len(data)], limit))
    cuts = sorted(chance.randint(0, len(data)) for _ in range(chance.choice((1, 2, 5))))
    parts = outcome(in_parts(data, [0, *cuts, len(data)], limit))
    assert parts == whole, f"cut at {cuts}: {parts} instead of {whole}"
    plain = outcome(plainly(data, limit))
    assert plain == whole, f"plainly: {plain} instead of {whole}"
    _check_acks(data, limit)
    return "frames" if whole[1] is None else whole[1].partition(":")[0]


def _check_acks(data: bytes, limit: int) -> None:
    """A broker's decoder takes acknowledgements that follow each other as one."""
    said = []
    for in_runs in (True, False):
        decoder = FrameDecoder(limit, acks_in_runs=in_runs)
        try:
            items = decoder.feed(data)
        except ProtocolError:
            items = []
        runs = groupby(items, key=lambda item: isinstance(item, SendRun))
        groups = [len(list(group)) if sends else told(group) for sends, group in runs]
        said.append((groups, str(decoder.failure)))
    assert said[0] == said[1], f"in runs: {said[0]}, one by one: {said[1]}"


def outcome(read: Iterator[object]) -> tuple[list[object], str | None]:
    found: list[object] = []
    try:
        for item in read:
            found.append(item)  # noqa: PERF402 - what came before a failure stays
    except ProtocolError as error:
        return list(one_by_one(found)), f"{type(error).__name__}: {error}"
    return list(one_by_one(found)), None


def in_parts(data: bytes, bounds: list[int], limit: int) -> Iterator[object]:
    """As a connection reads; what the decoder keeps stays below its limit."""
    decoder = FrameDecoder(limit)
    for start, stop in pairwise(bounds):
        part = data[start:stop]
        while part:
            place = decoder.buffer()
            if place is None:
                yield from decoder.feed(memoryview(part) if start % 2 else part)
                part = b""
            else:
                size = min(len(place), len(part))
                place[:size] = part[:size]
                part = part[size:]
                yield from decoder.filled(size)
            held = decoder.held_bytes
            assert held <= limit, f"{held} bytes kept, more than a frame may have"
            assert held <= BIG_FRAME_SIZE or decoder.buffer() is not None, "a big frame has its own"
            if decoder.failure is not None:
                raise decoder.failure


def plainly(data: bytes, limit: int) -> Iterator[object]:
    """Frame by frame, each as a whole, through protobuf."""
    while len(data) >= 4:
        size = 4 + int.from_bytes(data[:4])
        if not 8 <= size <= limit:
            yield from FrameDecoder(limit).feed(data)  # Raises, in the decoder's own words.
        if size > len(data):
            return
        yield decode(data[:size], 0, size)
        data = data[size:]
