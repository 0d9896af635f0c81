"""Checks that the log and the metadata of a data folder belong together.

Neither can be made anew beside the other. A log without its metadata is bytes that no topic leads
to. Metadata without its log would hand out ledger ids again that topics still refer to, and so
deliver the entries of one topic to the readers of another.
"""

from pathlib import Path

from magnetar.errors import StorageError
from magnetar.storage.codec.codec import Codec
from magnetar.storage.codec.ledger_list import LedgerListRecord
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import MetadataStore
from magnetar.storage.metadata.walk import records_below


def holds_log(ledgers: Path) -> bool:
    """Whether there are files of the log, which exist from the first topic on."""
    return any(ledgers.glob("segment-*.log"))


async def check_log_is_there(metadata: MetadataStore, codec: Codec, ledgers: Path) -> None:
    """Raise StorageError for a folder without files of the log that should have some."""
    below = records_below(metadata, paths.MANAGED_LEDGERS, paths.MANAGED_LEDGER_DEPTH)
    found = [path async for path in below]
    for path in found:
        record = await metadata.get(path)
        stored = codec.decode_ledger_list(record.value if record else b"", source=path)
        # A topic that was being created when the process died has had no ledger yet.
        if stored != LedgerListRecord() or await metadata.children(path):
            raise StorageError(
                f"{ledgers} has no files of the log, but metadata.sqlite beside it knows "
                f"{len(found)} topics that were in it: restore the folder from a backup, or move "
                "metadata.sqlite away too to begin with nothing"
            )
