"""Whole frames out of the bytes of a handshake or of questions, which are few and small. Pure."""

from typing import Final

from magnetar.errors import FrameTooLarge, MalformedFrame
from magnetar.message.send_run import SendRun
from magnetar.wire.frames import Frame, decode

FRAME_SIZE_MAX: Final = 1024 * 1024
"""Credentials, names of topics and schemas: no message is among them."""


class FrameReader:
    """Bytes in, frames out, and what is left behind them."""

    __slots__ = ("rest",)

    rest: bytes

    def __init__(self) -> None:
        self.rest = b""

    def feed(self, data: bytes) -> None:
        self.rest += data

    def next(self) -> tuple[Frame, bytes] | None:
        """The next frame and its bytes; None until it is whole. Raises ProtocolError."""
        if len(self.rest) < 4:
            return None
        end = 4 + int.from_bytes(self.rest[:4], "big")
        if end > FRAME_SIZE_MAX:
            raise FrameTooLarge(f"a frame of {end} bytes, where a proxy takes {FRAME_SIZE_MAX}")
        if end < 8:
            raise MalformedFrame(f"a frame of {end} bytes has no room for a command")
        if len(self.rest) < end:
            return None
        whole, self.rest = self.rest[:end], self.rest[end:]
        frame = decode(whole, 0, end)
        if isinstance(frame, SendRun):
            raise MalformedFrame("a message, on a connection that goes to no broker")
        return frame, whole
