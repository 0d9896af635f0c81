"""The offloader: copies of ledgers are Parquet files, written and read by other processes."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from magnetar.clock import Clock
from magnetar.storage.ledger.offload_frames import entries_body, frame, parse_entries
from magnetar.storage.ledger.offloader import OPTION
from magnetar.storage.ledger.store import LedgerEntries, LedgerReader

from .history_process import IDLE_S, HistoryProcess

READ_ENTRIES_MAX: Final = 1_000
READ_BYTES_MAX: Final = 1024 * 1024
"""How much of a ledger is read, and handed over, at once."""


class HistoryOffloader:
    """The contract is ``storage/ledger/offloader.py``; the processes start when they are needed."""

    def __init__(self, clock: Clock, *, idle_s: float = IDLE_S) -> None:
        self.writer = HistoryProcess("background", clock=clock, idle_s=idle_s)
        self.reader = HistoryProcess(clock=clock, idle_s=idle_s)

    async def offload(
        self, ledger: LedgerReader, properties: Mapping[str, str], secrets: Mapping[str, str]
    ) -> Mapping[str, str]:
        asked = {
            **_place("offload", properties, secrets),
            "topic": properties["topic"],
            "partition": int(properties["partition"]),
            "ledgerId": ledger.ledger_id,
        }
        said, _ = await self.writer.ask(asked, _entries(ledger))
        return said

    async def read(
        self,
        properties: Mapping[str, str],
        secrets: Mapping[str, str],
        *,
        first: int,
        count_max: int,
        bytes_max: int,
    ) -> LedgerEntries:
        asked = {
            **_place("read", properties, secrets),
            "first": first,
            "count": count_max,
            "bytes": bytes_max,
        }
        _, body = await self.reader.ask(asked)
        return parse_entries(body)

    async def delete(self, properties: Mapping[str, str], secrets: Mapping[str, str]) -> None:
        # The other process may be busy with a ledger for minutes.
        await self.reader.ask(_place("delete", properties, secrets))

    async def close(self) -> None:
        """End the processes."""
        await self.writer.close()
        await self.reader.close()


def _place(do: str, properties: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, Any]:
    options = {
        name.removeprefix(OPTION): value
        for name, value in properties.items()
        if name.startswith(OPTION)
    }
    return {
        "do": do,
        "url": properties["url"],
        "name": properties["name"],
        "options": {**options, **secrets},
    }


async def _entries(ledger: LedgerReader) -> AsyncIterator[bytes]:
    """All entries of a ledger, as frames."""
    first, last = 0, ledger.end.last_entry_id
    while first <= last:
        found = await ledger.read(first, READ_ENTRIES_MAX, READ_BYTES_MAX)
        yield frame({"do": "entries"}, entries_body(found))
        first += len(found.data)
    yield frame({"do": "finish"})
