"""How fast ledgers are written to three real bookies and read back, and what that costs us.

    python -m bench.bookies
    python -m bench.bookies --tls    # With TLS between us and the bookies.
    python -m bench.bookies --large  # Entries as large as batches, bookies as Pulsar ships them.

The last is what bookies take from a writer that does nothing else: no broker writes faster.

The bookies and their ZooKeeper server run on this machine and share its cores; they sync before
they answer. Each entry has two copies. Half a minute; ``make cluster-jars`` fetches the servers.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

from bench.bookkeeper_cluster import SHIPPED, SHIPPED_JVM, SMALL_JVM, BookKeeperCluster
from magnetar.errors import StorageError
from magnetar.inner import checksum
from magnetar.loop_iteration import LoopIteration
from magnetar.storage.ledger.bookkeeper.client_tls import TlsSettings
from magnetar.storage.ledger.bookkeeper.settings import BookKeeperSettings
from magnetar.storage.ledger.bookkeeper.store import BookKeeperLedgerStore
from magnetar.storage.ledger.store import LedgerReader, LedgerWriter
from magnetar.storage.metadata.zookeeper import ZooKeeperMetadataStore, ZooKeeperSettings
from magnetar.tools.certificates import issued, new_authority

READ_BYTES: Final = 4 * 1024 * 1024


class Case(NamedTuple):
    """What is appended: ``under_way`` runs at a time until there are ``total`` entries."""

    size: int
    run: int
    total: int
    under_way: int


CASES: Final = (
    Case(1024, 20, 100_000, 50),
    Case(100, 200, 200_000, 10),
    Case(1024, 1, 5_000, 1),
)


LARGE: Final = (Case(64 * 1024, 1, 10_000, 200), Case(100_000, 1, 6_000, 50))
"""As many under way as ``cluster_compare`` has, without a broker between."""


async def write(ledger: LedgerWriter, case: Case) -> None:
    """Append all, and return when all are answered."""
    data = [bytes(case.size)] * case.run
    checksums = [checksum(data[0])] * case.run
    appended = answered = 0
    over = asyncio.Event()

    def note(_first: int, error: StorageError | None) -> None:
        nonlocal answered
        assert error is None, error
        answered += case.run
        append()

    def append() -> None:
        nonlocal appended
        if appended < case.total:
            appended += case.run
            ledger.append(list(data), checksums, note)
        elif answered >= case.total:
            over.set()

    for _ in range(case.under_way):
        append()
    await over.wait()


async def read(ledger: LedgerReader, case: Case) -> None:
    """Read all from the first to the last."""
    position = 0
    while position < case.total:
        position += len((await ledger.read(position, 10_000, READ_BYTES)).data)


async def measure(
    servers: str, settings: BookKeeperSettings, cases: Sequence[Case], times: int
) -> None:
    """Measure all cases, so many times, and print a line for each."""
    metadata = await ZooKeeperMetadataStore.open(ZooKeeperSettings(servers=servers))
    store = await BookKeeperLedgerStore.start(
        metadata,
        settings=settings,
        iteration=LoopIteration(asyncio.get_running_loop()),
    )
    for case in [*cases] * times:
        ledger = await store.create()
        print(f"{case.size} B, runs of {case.run}, {case.under_way} under way")
        for name, work in (("written", write(ledger, case)), ("read", None)):
            began, used = time.perf_counter(), time.process_time()
            if work is None:
                await read(await store.open(ledger.ledger_id), case)
            else:
                await work
            took_s, used_s = time.perf_counter() - began, time.process_time() - used
            print(
                f"  {name:8} {case.total / took_s:>9,.0f} entries a second, "
                f"{1e6 * used_s / case.total:.1f} us of our CPU each"
            )
    await store.close()
    await metadata.close()


def with_tls(folder: Path) -> tuple[dict[str, object], BookKeeperSettings]:
    """The settings of bookies that speak TLS, and ours."""
    authority, key = new_authority("bench")
    certificate, certificate_key = issued(authority, key, ["127.0.0.1"], timedelta(days=1))
    files = {"ca": authority, "bookie": certificate, "bookie-key": certificate_key}
    for name, content in files.items():
        (folder / f"{name}.pem").write_bytes(content)
    theirs: dict[str, object] = {
        "tlsProvider": "JDK",
        "tlsProviderFactoryClass": "org.apache.bookkeeper.tls.TLSContextFactory",
        "tlsKeyStoreType": "PEM",
        "tlsKeyStore": folder / "bookie-key.pem",
        "tlsCertificatePath": folder / "bookie.pem",
    }
    return theirs, BookKeeperSettings(tls=TlsSettings(trust=folder / "ca.pem"))


def main() -> None:
    """Start the servers and measure."""
    with tempfile.TemporaryDirectory() as name:
        folder, ours = Path(name), BookKeeperSettings()
        theirs: dict[str, object] = {}
        if "--tls" in sys.argv[1:]:
            theirs, ours = with_tls(folder)
        large = "--large" in sys.argv[1:]
        if large:
            theirs |= SHIPPED
        options = SHIPPED_JVM if large else SMALL_JVM
        with BookKeeperCluster(folder, settings=theirs, options=options) as cluster:
            servers, cases = cluster.zookeeper.address, LARGE if large else CASES
            # The first times, the bookies' JVMs still compile themselves.
            asyncio.run(measure(servers, ours, cases, 4 if large else 1))


if __name__ == "__main__":
    main()
