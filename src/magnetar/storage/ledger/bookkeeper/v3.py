"""What version 2 of BookKeeper's protocol cannot ask: the frames of version 3 for that. Pure.

A bookie takes frames of version 3 until it has seen one of version 2, on the same connection.
"""

from typing import Final

from google.protobuf.message import DecodeError

from magnetar.errors import CorruptEntry
from magnetar.model.cluster_stores import DiskSpace
from magnetar.proto.BookKeeperV3_pb2 import (
    EOK,
    GET_BOOKIE_INFO,
    START_TLS,
    THREE,
    GetBookieInfoRequest,
    Header,
    Operation,
    Request,
    Response,
    StartTls,
    Status,
)

ANSWER_SIZE_MAX: Final = 1024 * 1024
"""Of an answer of version 3; a larger one is none that was asked for."""
_TOTAL_AND_FREE: Final = 1 | 2


class Refused(Exception):
    """A bookie does not do what it is asked."""

    def __init__(self, status: int) -> None:
        super().__init__(Status.Name(status) if status in Status.values() else f"status {status}")


def start_tls_frame() -> bytes:
    """Asks for TLS on this connection."""
    return _frame(Request(header=_header(START_TLS), startTLSRequest=StartTls()))


def space_frame() -> bytes:
    """Asks for the disks of a bookie."""
    asked = GetBookieInfoRequest(requested=_TOTAL_AND_FREE)
    return _frame(Request(header=_header(GET_BOOKIE_INFO), getBookieInfoRequest=asked))


def frame_end(data: bytes) -> int | None:
    """Where the first frame ends; None: it is not whole. Raises CorruptEntry."""
    if len(data) < 4:
        return None
    size = int.from_bytes(data[:4], "big")
    if size > ANSWER_SIZE_MAX:
        raise CorruptEntry(f"a bookie began an answer of {size} bytes to a small question")
    return 4 + size if len(data) >= 4 + size else None


def check_started(frame: bytes) -> None:
    """Take the answer to ``start_tls_frame``. Raises Refused, CorruptEntry."""
    _answer(frame)


def space_of(frame: bytes) -> DiskSpace:
    """The answer to ``space_frame``. Raises Refused, CorruptEntry."""
    info = _answer(frame).getBookieInfoResponse
    if info.status != EOK:
        raise Refused(info.status)
    return DiskSpace(info.totalDiskCapacity, info.freeDiskSpace)


def _header(operation: Operation) -> Header:
    return Header(version=THREE, operation=operation, txnId=1)  # One at a time is asked.


def _frame(request: Request) -> bytes:
    body = request.SerializeToString()
    return len(body).to_bytes(4, "big") + body


def _answer(frame: bytes) -> Response:
    try:
        response = Response.FromString(frame[4:])
    except DecodeError as error:
        raise CorruptEntry(f"a bookie sent an answer that none would: {error}") from error
    if response.status != EOK:
        raise Refused(response.status)
    return response
