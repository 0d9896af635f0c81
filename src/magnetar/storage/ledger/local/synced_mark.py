"""How far the newest segment is synced, in a small file beside it.

A record says what was synced before it, so no record vouches for the last ones that were answered.
The mark does: it is put after each sync, before anything is answered, into memory that the system
keeps when the process dies. After a loss of power it may be older than the log, and is still true.

    offset  size
         0    16  the boot of the machine; zeros where answers do not wait for a sync
        16     8  everything before this offset of the segment is on disk
        24     4  CRC-32C of these, seeded with the stamp of the segment
"""

import contextlib
import logging
import struct
from pathlib import Path
from typing import Final, NamedTuple, Self

from .disk import Files, Note
from .format import Stamp, stamped
from .settings import Durability

log = logging.getLogger(__name__)

NAME: Final = "synced"
_MARK: Final = struct.Struct("<16sQ")
_CRC: Final = struct.Struct("<I")
_SIZE: Final = _MARK.size + _CRC.size


class Synced(NamedTuple):
    """What the mark tells of a segment."""

    offset: int = 0  # Everything before it was on disk.
    all_answers: bool = False  # Nothing behind it was answered.


class SyncedMark:
    """The mark of the process that writes the log."""

    def __init__(self, note: Note, boot: bytes) -> None:
        self._note = note
        self._boot = boot

    @classmethod
    def open(cls, files: Files, folder: Path, durability: Durability) -> Self | None:
        """None where the disk refuses it: then records alone vouch for what lies before them."""
        boot = files.boot_id() if durability is Durability.FSYNC else b""
        try:
            return cls(files.open_note(folder / NAME, _SIZE), boot)
        except OSError as error:
            log.warning("storage.synced_mark_failed folder=%s error=%s", folder, error)
            return None

    def put(self, stamp: Stamp, offset: int) -> None:
        """Everything before ``offset`` of the segment with this stamp is on disk."""
        mark = _MARK.pack(self._boot, offset)
        self._note.put(mark + _CRC.pack(stamped(stamp, mark)))

    def close(self) -> None:
        self._note.close()


def read_mark(files: Files, folder: Path, stamp: Stamp) -> Synced:
    """What the mark tells of the segment with this stamp; nothing when it is of another one."""
    try:
        with contextlib.closing(files.open(folder / NAME)) as file:
            mark = file.read(0, _SIZE)
    except OSError:
        return Synced()
    if len(mark) < _SIZE or _CRC.pack(stamped(stamp, mark[: _MARK.size])) != mark[_MARK.size :]:
        return Synced()
    boot, offset = _MARK.unpack_from(mark)
    return Synced(offset, any(boot) and boot == files.boot_id())
