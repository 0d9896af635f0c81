"""How long queries take over files of ledgers: ten million messages in ten files, all different.

    python -m bench.history [MESSAGES]

The files are written as the process that offloads writes them, to a folder that is deleted, and
asked as ``magnetar sql`` asks them. The bound is two seconds for a count.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from magnetar import inner
from magnetar.history.file_writer import LedgerFileWriter
from magnetar.history.sql import NO_ROWS, File, QueryTables
from magnetar.inner.plain.batches import Single
from magnetar.message import batch, entry, metadata

MESSAGES = 10_000_000
FILES = 10
PER_BATCH = 1_000
COUNT_S_MAX = 2.0
FIRST_MS = 1_700_000_000_000
MINUTE = "publish_time BETWEEN '2023-11-14 22:20' AND '2023-11-14 22:21'"
QUERIES = (
    "SELECT count(*) FROM orders",
    "SELECT decode(key), count(*) FROM orders GROUP BY 1 ORDER BY 2 DESC LIMIT 3",
    f"SELECT avg((decode(value)->>'$.amount')::int) FROM orders WHERE {MINUTE}",
)


def batches(chance: random.Random, first: int, count: int) -> list[bytes]:
    """Entries of ``PER_BATCH`` messages, numbered from ``first`` on."""
    found = []
    for start in range(first, first + count, PER_BATCH):
        bodies = [
            b'{"order":%d,"amount":%d,"text":"%x"}'
            % (number, chance.randrange(10**6), chance.getrandbits(64))
            for number in range(start, start + PER_BATCH)
        ]
        keys = {
            index: Single(key=f"customer-{chance.randrange(7_000)}") for index in range(PER_BATCH)
        }
        payload = batch.pack(bodies, first_sequence_id=start, details=keys)
        said = metadata.build("bench", start, FIRST_MS + start // 10, message_count=PER_BATCH)
        found.append(entry.join(said, payload))
    return found


def write(folder: Path, messages: int) -> tuple[int, float]:
    """Write the files; return the bytes of the entries, and how long the writing took."""
    chance, size, took_s = random.Random(1), 0, 0.0
    for ledger_id in range(FILES):
        with pa.OSFile(str(folder / f"{ledger_id}.parquet"), "wb") as sink:
            place = ("persistent://public/default/orders", -1, ledger_id)
            with LedgerFileWriter(sink, *place) as writer:
                share = messages // FILES
                for first in range(ledger_id * share, (ledger_id + 1) * share, 100 * PER_BATCH):
                    data = batches(chance, first, 100 * PER_BATCH)
                    size += sum(map(len, data))
                    began = time.perf_counter()
                    writer.add(data, list(map(inner.checksum, data)))
                    took_s += time.perf_counter() - began
                writer.finish()
    return size, took_s


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("messages", nargs="?", type=int, default=MESSAGES)
    messages = parser.parse_args(arguments).messages
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size, took_s = write(folder, messages)
        stored = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{messages:,} messages, {size >> 20} MiB of entries, {stored >> 20} MiB of files")
        print(f"written at {messages / took_s:,.0f} messages/s")
        files = [File(folder.as_uri(), each.name, {}) for each in sorted(folder.iterdir())]
        times = []
        for query in QUERIES:
            began = time.perf_counter()
            with QueryTables() as tables:
                tables.add("orders", files, NO_ROWS)
                answer = tables.ask(query)
            times.append(time.perf_counter() - began)
            print(f"{times[-1]:.2f} s  {query}  -> {answer.rows[0]}")
    return 0 if times[0] < COUNT_S_MAX else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
