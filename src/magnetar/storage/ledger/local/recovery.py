"""Finds out what a folder holds: every answered entry, and nothing a crash left half done.

Blocking, for a thread. Sealed segments say in their footer what they hold. The others are read
from front to back; the newest is cut off behind the last record that counts, and what the crash may
have left unsynced is written again, so that what is found now will be found next time too.
"""

import contextlib
import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path
from typing import Final, NamedTuple

from magnetar.errors import StorageError
from magnetar.inner.record import HEAD_SIZE
from magnetar.late_dataclass import dataclass
from magnetar.model.log_damage import NOTHING_CUT, Cut, LogDamage

from .disk import File, Files
from .format import head_at, located
from .index import Ledger, LedgerState
from .scan import WINDOW, Scan, find_footer, read_footer, read_header, scan
from .segment_format import PAGE, Contents, SegmentHeader, starts_segment
from .segments import Notes, Segment, SegmentState, Spare, newest_mark
from .settings import Durability, LocalLedgerSettings
from .synced_mark import Synced, read_mark

log = logging.getLogger(__name__)

_SEGMENT: Final = re.compile(r"segment-(\d{10})\.log")
_SPARE: Final = re.compile(r"spare-(\d{10})\.log")
_NEWEST: Final = re.compile(r"newest-(\d{10})")

IDS_SKIPPED: Final = 1_000_000
"""How many ledger ids are skipped where files that are gone may have given some."""


@dataclass(slots=True)
class Recovered:
    """The state that recovery found: what a store starts with."""

    segments: list[Segment] = field(default_factory=list)
    active: Segment | None = None
    ledgers: dict[int, Ledger] = field(default_factory=dict)
    deleted: dict[int, set[int]] = field(default_factory=dict)
    next_ledger_id: int = 1
    spares: list[Spare] = field(default_factory=list)
    damage: LogDamage = field(default_factory=LogDamage)


class _FoundSegment(NamedTuple):
    header: SegmentHeader
    contents: Contents
    segment: Segment


def recover(files: Files, folder: Path, settings: LocalLedgerSettings) -> Recovered:
    """Read the folder. Raises StorageError, naming the file and the remedy."""
    durable = settings.durability is not Durability.NONE
    files.make_folder(folder)
    if durable:  # A process may have died between a renaming and its sync.
        try:
            files.sync_folder(folder)
        except OSError as error:
            raise StorageError(f"{folder} cannot be synced ({error}): check the disk") from error
    names = sorted(files.names(folder))
    paths = [folder / name for name in names if _SEGMENT.fullmatch(name)]
    marks = [folder / name for name in names if _NEWEST.fullmatch(name)]
    _check_newest(folder, paths, marks)
    ends: dict[int, int] = {}
    headers = []
    for path in paths:
        header = _header(files, path)
        ends.update(header.ends)
        headers.append(header)
    found = []
    damage = LogDamage()
    for path, header in zip(paths, headers, strict=True):
        newest = header is headers[-1]
        end = None if newest else ends.get(header.generation)
        synced = read_mark(files, folder, header.stamp) if newest else None
        with _opened(files, path) as file:
            each = _segment(
                file, path, header, end=end, synced=synced, damage=damage, durable=durable
            )
        found.append(each)
        found[-1].segment.size = max(settings.segment_size, header.start)
    result = _index(files, found)
    result.damage = damage
    result.spares = _spares(files, folder, names, settings)
    for mark in marks[:-1]:
        files.remove(mark)
    if found:
        if not marks:
            result.next_ledger_id += IDS_SKIPPED
            log.warning("storage.newest_unknown folder=%s: files may be missing", folder)
        result.active = found[-1].segment
        log.info(
            "storage.recovered folder=%s segments=%d ledgers=%d",
            folder,
            len(found),
            len(result.ledgers),
        )
    return result


def _check_newest(folder: Path, paths: list[Path], marks: list[Path]) -> None:
    """Raises StorageError when the newest segment is missing."""
    if marks and not (paths and newest_mark(paths[-1]) >= marks[-1]):
        missing = f"segment-{marks[-1].name[7:]}.log"
        raise StorageError(
            f"{missing}, the newest file of the log, is missing in {folder}: "
            f"restore it, or remove {marks[-1]} to go on without the messages that were in it"
        )


@contextlib.contextmanager
def _opened(files: Files, path: Path) -> Iterator[File]:
    """Open a file for a while; an error names the file and the remedy."""
    try:
        with contextlib.closing(files.open(path)) as file:
            yield file
    except OSError as error:
        raise StorageError(
            f"{path} cannot be read ({error}): check the disk and the file's permissions"
        ) from error


def _header(files: Files, path: Path) -> SegmentHeader:
    with _opened(files, path) as file:
        header = read_header(file, path)
    match = _SEGMENT.fullmatch(path.name)
    if match is None or int(match[1]) != header.generation:
        raise StorageError(
            f"{path} is segment {header.generation} by its header: it was renamed; give it back "
            "its name, or restore the folder from a backup"
        )
    return header


def _segment(
    file: File,
    path: Path,
    header: SegmentHeader,
    *,
    end: int | None,
    synced: Synced | None,
    damage: LogDamage,
    durable: bool,
) -> _FoundSegment:
    """One segment's contents; the newest, which ``synced`` is of, is made ready to be written on.

    What is not as it was written is added to ``damage``.
    """
    newest = synced is not None
    contents = read_footer(file, header.stamp)
    state = SegmentState.ACTIVE if newest else SegmentState.SEALED
    if contents is None:
        if find_footer(file, header.stamp) is not None:
            log.warning("storage.footer_damaged path=%s: reading the records instead", path)
        limit = end if end is not None else file.size()
        scanned = scan(
            file,
            header.stamp,
            header.start,
            limit,
            newest=newest,
            verify_bodies=True,
            synced=0 if synced is None else synced.offset,
        )
        damage.records += len(scanned.damaged)
        for offset in scanned.damaged:
            log.error("storage.damaged path=%s offset=%d: it had been answered", path, offset)
        contents = scanned.contents
        if synced is not None:
            damage.maybe_answered = _cut(file, path, header, scanned, synced, durable=durable)
        else:
            state = SegmentState.FULL
            contents = contents._replace(end=end or contents.end)
    end = contents.end
    segment = Segment(header.stamp, path, header.start, end, end, end, state=state, synced=end)
    if state is not SegmentState.SEALED:
        segment.notes = Notes.of(contents)
    return _FoundSegment(header, contents, segment)


def _cut(
    file: File, path: Path, header: SegmentHeader, scanned: Scan, synced: Synced, *, durable: bool
) -> Cut:
    """Cut off what lies behind the last record that counts, and make durable what lies before.

    Returns what of that may have been answered.
    """
    maybe_answered = NOTHING_CUT
    size = file.size()
    if size > scanned.end:
        behind = file.read(scanned.end, 4096)
        if scanned.cut.records or (behind.strip(b"\0") and not header.recycled):
            cut = scanned.cut._replace(records=max(scanned.cut.records, 1))
            log.warning(
                "storage.tail_cut path=%s offset=%d records=%d entries=%d: unfinished, %s answered",
                path,
                scanned.end,
                *cut,
                "never" if synced.all_answers else "maybe",
            )
            maybe_answered = NOTHING_CUT if synced.all_answers else cut
        file.truncate(scanned.end)
    if durable:
        for at in range(scanned.synced, scanned.end, WINDOW):
            file.write([file.read(at, min(WINDOW, scanned.end - at))], at)
        file.sync()
    return maybe_answered


def _index(files: Files, found: list[_FoundSegment]) -> Recovered:
    """Which ledgers exist, where their blocks lie, and what of each segment is alive."""
    result = Recovered(segments=[each.segment for each in found])
    deleted = {ledger_id for each in found for ledger_id in each.header.deleted}
    deleted.update(ledger_id for each in found for ledger_id in each.contents.deletions)
    segments = {each.segment.generation: each.segment for each in found}
    ended: dict[int, int] = {}
    for each in found:
        for ledger_id, group in each.contents.groups.items():
            if ledger_id in deleted:
                each.segment.hold(ledger_id, 0)
                result.deleted.setdefault(ledger_id, set()).add(each.segment.generation)
                continue
            ledger = result.ledgers.get(ledger_id)
            if ledger is None:
                ledger = result.ledgers[ledger_id] = Ledger(ledger_id)
                ledger.fence("its writer is gone")
            each.segment.hold(ledger_id, group.records_size)
            ledger.size_bytes += group.body_size
            ledger.next_entry_id = max(ledger.next_entry_id, group.next_entry_id)
            if group.created or group.ended_at is not None:
                ledger.mark(each.segment)
            if group.ended_at is not None:
                ended[ledger_id] = group.ended_at
            _drop_copies(files, segments, ledger, ledger.merge(group.firsts, group.locations))
    for ledger_id, entries in ended.items():
        result.ledgers[ledger_id].to(LedgerState.ENDED)
        result.ledgers[ledger_id].next_entry_id = entries
    for ledger in result.ledgers.values():
        ledger.moved = len(ledger.firsts)
    seen = [*result.ledgers, *deleted]
    given = [each.header.next_ledger_id for each in found]
    result.next_ledger_id = max([1, *given, *(ledger_id + 1 for ledger_id in seen)])
    return result


def _drop_copies(
    files: Files, segments: dict[int, Segment], ledger: Ledger, places: Iterable[int]
) -> None:
    """Compaction had copied these blocks, and was cut short before the originals were gone."""
    for place in places:
        generation, offset = located(place)
        segment = segments[generation]
        with _opened(files, segment.path) as file:
            head = head_at(file.read(offset, HEAD_SIZE), 0, segment.stamp)
        if head is not None:
            segment.release(ledger.ledger_id, head.size)
            ledger.size_bytes -= head.body_size


def _spares(
    files: Files, folder: Path, names: list[str], settings: LocalLedgerSettings
) -> list[Spare]:
    """Find the files to be overwritten; remove those of another size (half done), or too many."""
    spares: list[Spare] = []
    others: list[Path] = []
    for name in names:
        if not _SPARE.fullmatch(name):
            continue
        path = folder / name
        with _opened(files, path) as file:
            if file.size() == settings.segment_size:
                spares.append(Spare(path, recycled=starts_segment(file.read(0, PAGE))))
            else:
                others.append(path)
    spares.sort(key=lambda spare: not spare.recycled)
    kept = spares[: settings.segments_spare_max]
    others += [spare.path for spare in spares[len(kept) :]]
    for path in others:
        files.remove(path)
    return kept
