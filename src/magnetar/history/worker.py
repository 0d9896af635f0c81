"""The process that offloads for a broker: requests on one pipe, answers on another.

``python -m magnetar.history`` serves until its input ends, one request at a time:

    {"do": "offload", "url", "options", "name", "topic", "partition", "ledgerId"}, entries in frames
        {"do": "entries"}, {"do": "finish"}: answered with what is to be recorded of the file
    {"do": "read", "url", "options", "name", "first", "count", "bytes"}: answered with entries
    {"do": "delete", "url", "options", "name"}

One that fails is answered with ``{"error": the name of the error's class, "message"}``.
"""

import logging
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, Final, NamedTuple

from magnetar.errors import MagnetarError, StorageError
from magnetar.storage.ledger.offload_frames import (
    entries_body,
    frame,
    frame_size,
    parse_entries,
    parse_frame,
)
from magnetar.storage.ledger.store import LedgerEntries

from .file_reader import LedgerFile
from .file_writer import LedgerFileWriter
from .footer import Footer
from .stores import ObjectStore, open_ledger, store_at

log = logging.getLogger(__name__)

FILES_OPEN_MAX: Final = 4
"""Files kept open for reading, each with the row group that was read last."""

Header = dict[str, Any]


class Frame(NamedTuple):
    """A request, a part of one, or an answer."""

    header: Header
    body: bytes = b""


def frames(source: BinaryIO) -> Iterator[Frame]:
    """What comes, until the other side is gone."""
    while len(head := source.read(4)) == 4:
        size = frame_size(head)
        data = source.read(size)
        if len(data) < size:
            return
        yield Frame(*parse_frame(data))


class Worker:
    """Answers requests. It remembers files that were read, and nothing else."""

    def __init__(self, wanted: Callable[[], bool]) -> None:
        """``wanted``: whether who asked is still there. Without it no file comes into being."""
        self._wanted = wanted
        self._open: OrderedDict[tuple[str, str], LedgerFile] = OrderedDict()

    def serve(self, source: BinaryIO, answers: BinaryIO) -> None:
        """Answer until the input ends."""
        coming = frames(source)
        with suppress(EOFError):
            for asked in coming:
                answers.write(frame(*self._answer(asked.header, coming)))
                answers.flush()

    def _answer(self, asked: Header, coming: Iterator[Frame]) -> Frame:
        try:
            if asked["do"] == "offload":
                return Frame(self._offload(asked, coming))
            if asked["do"] == "read":
                found = self._file(asked).entries(asked["first"], asked["count"], asked["bytes"])
                return Frame({}, entries_body(LedgerEntries(*found)))
            self._delete(asked)
            return Frame({})
        except EOFError:
            raise
        except MagnetarError as error:
            return Frame({"error": type(error).__name__, "message": str(error)})
        except Exception as error:  # The broker says what it was for.
            log.exception("history.defect asked=%s", asked["do"])
            return Frame({"error": "StorageError", "message": f"{type(error).__name__}: {error}"})

    def _offload(self, asked: Header, coming: Iterator[Frame]) -> Header:
        store, name = store_at(asked["url"], asked["options"]), asked["name"]
        parts = _until_finish(coming)
        try:
            footer, checksums = self._write(asked, store, parts)
        finally:
            for _ in parts:  # Whatever happened: the next request is behind them.
                pass
        try:
            with open_ledger(store, name) as copy:
                copy.verify(checksums)
        except StorageError:
            store.delete(name)
            raise
        _delete_other_attempts(store, name, asked["ledgerId"])
        return {"rows": str(footer.rows), "missing": str(footer.missing)}

    def _write(
        self, asked: Header, store: ObjectStore, parts: Iterator[Frame]
    ) -> tuple[Footer, Sequence[int]]:
        """Write the file. Raises EOFError when the entries end too soon."""
        checksums = array("I")
        place = (asked["topic"], asked["partition"], asked["ledgerId"])
        with store.writing(asked["name"]) as sink, LedgerFileWriter(sink, *place) as writer:
            for part in parts:
                entries = parse_entries(part.body)
                writer.add(*entries)
                checksums.extend(entries.checksums)
            footer = writer.finish()
            if not self._wanted():
                raise EOFError
        return footer, checksums

    def _delete(self, asked: Header) -> None:
        opened = self._open.pop((asked["url"], asked["name"]), None)
        if opened is not None:
            opened.close()
        store_at(asked["url"], asked["options"]).delete(asked["name"])

    def _file(self, asked: Header) -> LedgerFile:
        key = (asked["url"], asked["name"])
        file = self._open.get(key)
        if file is None:
            file = open_ledger(store_at(asked["url"], asked["options"]), asked["name"])
            self._open[key] = file
            if len(self._open) > FILES_OPEN_MAX:
                self._open.popitem(last=False)[1].close()
        self._open.move_to_end(key)
        return file


def _until_finish(coming: Iterator[Frame]) -> Iterator[Frame]:
    for part in coming:
        if part.header["do"] == "finish":
            return
        yield part
    raise EOFError


def _delete_other_attempts(store: ObjectStore, name: str, ledger_id: int) -> None:
    """Delete what brokers left that died while they made a copy of the same ledger."""
    folder, _, own = name.rpartition("/")
    for each in store.names(folder):
        file = each.rpartition("/")[2]
        if file.startswith(f"{ledger_id}-") and file != own:
            store.delete(each)
