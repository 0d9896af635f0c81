"""Bytes to frames: commands, entries, and runs of sends. Pure.

    simple    totalSize(4) commandSize(4) BaseCommand
    payload   the same, then [0e02 size(4) BrokerEntryMetadata] [0e01 crc32c(4)] entry

Big-endian; totalSize does not count itself. Only SEND and MESSAGE have a payload: bytes behind any
other command are ignored. An entry is ``metadataSize(4) MessageMetadata body``, and the checksum is
that of the entry. It travels on without its checksum's head: a checksum that is missing is made.

Consecutive sends come out as one ``SendRun`` for each producer, in which they keep their order,
everything else as a ``Frame``, in the order of the wire. Who asks for it gets consecutive
acknowledgements as one frame for each consumer, and receipts as one for each producer, too.
"""

from struct import Struct

from google.protobuf.message import Message

from magnetar.errors import FrameTooLarge, MalformedFrame, ProtocolError
from magnetar.inner import checksum, cut_acks, cut_receipts, cut_sends
from magnetar.late_dataclass import dataclass
from magnetar.message.send_run import SendRun
from magnetar.proto import PulsarApi_pb2 as pb

from .acks import AckRun
from .commands import parse, serialize
from .receipts import ReceiptRun

MESSAGE_SIZE_MAX = 5 * 1024 * 1024  # what CONNECTED advertises
FRAME_SIZE_MAX = MESSAGE_SIZE_MAX + 10 * 1024  # with room for command and metadata

# From here on a frame that is not complete gets a buffer of its own, so that its bytes need not be
# moved with every read.
BIG_FRAME_SIZE = 32 * 1024
BIG_FRAME_FIRST_SIZE = 256 * 1024  # So much of it at first, then twice as much each time.

_SIZE = Struct(">I").unpack_from
_SIZES = Struct(">II").unpack_from
_pack_sizes = Struct(">II").pack
_pack_checksum = Struct(">2sI").pack
_BROKER_ENTRY_METADATA = b"\x0e\x02"
_CHECKSUM = b"\x0e\x01"

_SEND = pb.BaseCommand.SEND
_MESSAGE = pb.BaseCommand.MESSAGE
_ACK = pb.BaseCommand.ACK
_ACKS = pb.BaseCommand(type=_ACK)  # stands in for the commands of a run of them
_RECEIPT = pb.BaseCommand.SEND_RECEIPT
_RECEIPTS = pb.BaseCommand(type=_RECEIPT)


@dataclass(slots=True)
class Frame:
    """A command, and the entry that came with it if it is a SEND or a MESSAGE.

    A SEND is a frame, not part of a run, when ``checksum_ok`` is False, or when it belongs to a
    transaction. ``checksum`` is the entry's own, whatever came with it. ``acks`` is what a decoder
    that cuts acknowledgements found, one or more ACKs; the command says nothing but its type then.
    ``receipts`` are the same of SEND_RECEIPTs.
    """

    command: pb.BaseCommand
    entry: bytes | None = None
    checksum: int = 0
    checksum_ok: bool = True
    acks: AckRun | None = None
    receipts: ReceiptRun | None = None


class FrameDecoder:
    """Turns what one peer sends into frames, however it was cut in transit.

    Give it bytes with ``feed``, or, while ``buffer`` returns one, write them there and say so with
    ``filled``. Both return what is complete. On a bad frame they return what came before it and set
    ``failure``; with nothing before it, and from then on, they raise it.
    """

    __slots__ = (
        "_big",
        "_big_size",
        "_filled",
        "_in_runs",
        "_rest",
        "_spare",
        "_total_size_max",
        "failure",
    )

    failure: ProtocolError | None  # Invariant: once set, nothing is decoded any more.
    _rest: bytes  # the beginning of a frame that is not complete, and not big
    _big: bytearray | None  # a big frame that is not complete; then _rest is empty
    _big_size: int  # its size once it is; _big may be larger when it served before
    _filled: int  # how much of it is there
    _spare: bytearray | None  # serves the next big frame, where one is to be kept; b"" at first

    def __init__(
        self,
        frame_size_max: int = FRAME_SIZE_MAX,
        *,
        acks_in_runs: bool = False,
        keeps_buffer: bool = False,
    ) -> None:
        """``keeps_buffer``: hold BIG_FRAME_FIRST_SIZE bytes for big frames, once there was one.

        New memory for each costs more than moving its bytes.
        """
        self.failure = None
        self._in_runs = {_ACK} if acks_in_runs else set()
        self._total_size_max = frame_size_max - 4
        self._rest = b""
        self._big = None
        self._big_size = 0
        self._filled = 0
        self._spare = bytearray() if keeps_buffer else None

    @property
    def held_bytes(self) -> int:
        """The memory of what is not complete."""
        return len(self._rest) + (0 if self._big is None else len(self._big))

    def feed(self, data: bytes | memoryview) -> list[Frame | SendRun]:
        """Take bytes as they came. Returns the frames they complete.

        A view spares a copy of the big frames in it. Nothing of it is kept.
        """
        if self.failure is not None:
            raise self.failure
        out: list[Frame | SendRun] = []
        sends = 0
        if self._big is None and not self._rest and 9 < len(data) <= BIG_FRAME_SIZE:
            data = bytes(data)
            if data[9] == _SEND:  # By far the most frequent case: sends, and nothing else.
                sends, runs = cut_sends(data, 0, self._total_size_max)
                out = [SendRun(*run) for run in runs]
                if sends == len(data):
                    return out
        try:
            if self._big is not None:
                size = min(len(data), self._big_size - self._filled)
                self._grow(self._filled + size)
                self._big[self._filled : self._filled + size] = data[:size]
                out += self.filled(size)
                data = data[size:]
            if self._rest:
                data = self._rest + data
            self._take(data, sends, out)
        except ProtocolError as error:
            self.failure = error
            if not out:
                raise
        return out

    def buffer(self, _size_hint: int = -1) -> memoryview | None:
        """Where the rest of a big frame belongs, or None when no big frame is under way."""
        if self._big is None:
            return None
        self._grow(self._filled + 1)
        return memoryview(self._big)[self._filled : self._big_size]

    def filled(self, size: int) -> list[Frame | SendRun]:
        """``size`` bytes were written to the beginning of ``buffer``."""
        assert self._big is not None, "filled() needs a buffer() that was not None"
        self._filled += size
        assert self._filled <= len(self._big), "more bytes than buffer() had room for"
        if self._filled < self._big_size:
            return []
        whole, self._big = self._big, None
        if self._spare is not None and len(whole) <= BIG_FRAME_FIRST_SIZE:
            self._spare = whole
        try:
            return [decode(memoryview(whole), 0, self._big_size)]
        except ProtocolError as error:
            self.failure = error
            raise

    def cut_receipts(self) -> None:
        """From now on receipts that come together are one frame for each producer."""
        self._in_runs.add(_RECEIPT)

    def drop(self) -> None:
        """Nothing more will come: keep neither what is not complete, nor the failure's frames."""
        self.failure = None
        self._rest, self._big, self._filled = b"", None, 0

    def _take(self, data: bytes | memoryview, position: int, out: list[Frame | SendRun]) -> None:
        """Add the frames from ``position`` on to ``out``, and set aside what is left."""
        if isinstance(data, memoryview):
            data = data[self._decode_big(data, out) :]
            if self._keep_big(data):
                return
            data = bytes(data)
        position = self._decode(data, position, out)
        if not self._keep_big(memoryview(data)[position:]):
            self._rest = data[position:]

    def _decode_big(self, data: memoryview, out: list[Frame | SendRun]) -> int:
        """Add the big frames that ``data`` begins with to ``out``. Returns where they end."""
        position = 0
        while len(data) - position >= 8:
            size = 4 + _SIZE(data, position)[0]
            if not BIG_FRAME_SIZE < size <= min(len(data) - position, self._total_size_max + 4):
                break
            _add(out, decode(data, position, position + size))
            position += size
        return position

    def _decode(self, data: bytes, position: int, out: list[Frame | SendRun]) -> int:
        """Add the complete frames from ``position`` on to ``out``. Returns where they end."""
        size = len(data)
        while size - position >= 8:
            total_size = _SIZE(data, position)[0]
            end = position + 4 + total_size
            if end > size or not 4 <= total_size <= self._total_size_max:
                break
            if total_size > 8 and data[position + 9] == _SEND:
                start = position
                position, runs = cut_sends(data, position, self._total_size_max)
                if position > start:
                    _add(out, SendRun(*runs[0]))
                    out += [SendRun(*run) for run in runs[1:]]  # None goes on with another.
                    continue
            elif total_size > 8 and data[position + 9] in self._in_runs:
                start = position
                position = self._cut_run(data, position, out)
                if position > start:
                    continue
            _add(out, decode(data, position, end))
            position = end
        if size - position >= 4:
            self._check_size(_SIZE(data, position)[0])
        return position

    def _cut_run(self, data: bytes, position: int, out: list[Frame | SendRun]) -> int:
        """Add a run of acknowledgements or receipts to ``out``. Returns where it ends."""
        if data[position + 9] == _ACK:
            position, acks = cut_acks(data, position, self._total_size_max)
            out += [Frame(_ACKS, acks=AckRun(*each)) for each in acks.items()]
        else:
            position, receipts = cut_receipts(data, position, self._total_size_max)
            out += [Frame(_RECEIPTS, receipts=ReceiptRun(*each)) for each in receipts]
        return position

    def _check_size(self, total_size: int) -> None:
        if total_size > self._total_size_max:
            raise FrameTooLarge(
                f"a frame of {total_size + 4} bytes; at most {self._total_size_max + 4} are "
                "accepted (something else than Pulsar's protocol reads as a very large one)"
            )
        if total_size < 4:
            raise MalformedFrame(f"total size {total_size}, which has no room for a command size")

    def _keep_big(self, data: memoryview) -> bool:
        """Set ``data`` aside if a big frame begins there that is not complete, and nothing else."""
        self._rest = b""
        if len(data) < 4:
            return False
        size = 4 + _SIZE(data)[0]
        if not max(BIG_FRAME_SIZE, len(data)) < size <= self._total_size_max + 4:
            return False
        self._big, self._big_size, self._filled = bytearray(), size, 0
        if self._spare is not None:
            self._big, self._spare = self._spare, bytearray()
        self._grow(len(data))
        self._big[: len(data)] = data
        self._filled = len(data)
        return True

    def _grow(self, size: int) -> None:
        """Make room for so many bytes of the big frame, at least.

        A peer that announces a big frame is not given all of it before it has sent a part.
        """
        assert self._big is not None, "only a big frame grows"
        if size > len(self._big):
            room = max(size, 2 * len(self._big), BIG_FRAME_FIRST_SIZE)
            if self._spare is None or room > BIG_FRAME_FIRST_SIZE:
                room = min(room, self._big_size)
            larger = bytearray(room)
            larger[: self._filled] = self._big[: self._filled]
            self._big = larger


def encode(command: Message) -> bytes:
    """The frame of ``command``, such as a CommandSuccess, which has no payload."""
    data = serialize(command)
    return _pack_sizes(4 + len(data), len(data)) + data


def encode_with_entry(command: Message, entry: bytes, checksum: int) -> list[bytes]:
    """The frame of a SEND or a MESSAGE, in two pieces: all before the entry, and the entry."""
    data = serialize(command)
    sizes = _pack_sizes(10 + len(data) + len(entry), len(data))
    return [sizes + data + _pack_checksum(_CHECKSUM, checksum), entry]


def decode(data: bytes | memoryview, start: int, end: int) -> Frame | SendRun:
    """The whole frame from ``start`` to ``end``, whatever it is. A plain send is a run of one."""
    total_size, command_size = _SIZES(data, start)
    payload = start + 8 + command_size
    if payload > end:
        raise MalformedFrame(f"command size {command_size} in a frame of total size {total_size}")
    command = parse(bytes(data[start + 8 : payload]))
    if command.type not in {_SEND, _MESSAGE}:
        return Frame(command)
    entry, expected = _entry(data, payload, end)
    found = checksum(entry)
    checksum_ok = expected is None or expected == found
    send = command.send
    if command.type == _MESSAGE or not checksum_ok:
        return Frame(command, entry, found, checksum_ok)
    unclear = send.marker or send.num_messages < 0
    return SendRun.of(
        send.producer_id,
        [send.sequence_id],
        [entry],
        [found],
        [0 if unclear else send.num_messages],
        [send.highest_sequence_id],
        (send.txnid_most_bits, send.txnid_least_bits)
        if send.HasField("txnid_most_bits") and send.HasField("txnid_least_bits")
        else None,
    )


def _entry(data: bytes | memoryview, position: int, end: int) -> tuple[bytes, int | None]:
    """The entry behind the command, and the checksum that came with it, if one did."""
    expected: int | None = None
    if data[position : position + 2] == _BROKER_ENTRY_METADATA and position + 6 <= end:
        position += 6 + _SIZE(data, position + 2)[0]
    if data[position : position + 2] == _CHECKSUM and position + 6 <= end:
        expected = _SIZE(data, position + 2)[0]
        position += 6
    if position >= end:
        raise MalformedFrame("a SEND or MESSAGE with no entry behind its command")
    return bytes(data[position:end]), expected


def _add(out: list[Frame | SendRun], item: Frame | SendRun) -> None:
    """Append; a run goes on where the last one ended, if it may."""
    last = out[-1] if out else None
    if (
        not isinstance(item, SendRun)
        or not isinstance(last, SendRun)
        or not last.goes_on_with(item)
    ):
        out.append(item)
        return
    last.extend(item)
