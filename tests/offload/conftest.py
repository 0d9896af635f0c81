"""A broker that keeps everything, in short ledgers, and offloads what has ended to a folder."""

import time
from pathlib import Path

import pytest
from support.admin import ask

from magnetar.testing.processes import BrokerProcess

SETTINGS = {
    "managedLedgerMaxEntriesPerLedger": 10,
    "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    "defaultRetentionTimeInMinutes": -1,
    "defaultRetentionSizeInMB": -1,
    "retentionCheckIntervalInSeconds": 1,
    "maxMessageSize": 100_000,
    "managedLedgerOffloadDriver": "filesystem",
    "managedLedgerOffloadDeletionLagMs": 0,
}
WAIT_S = 30


class Offloading:
    """A broker and the folder that it offloads to."""

    def __init__(self, folder: Path, **settings):
        self.folder = folder / "tiered"
        settings = {**SETTINGS, "fileSystemURI": self.folder.as_uri(), **settings}
        self.broker = BrokerProcess(folder / "broker", settings=settings)

    def ledgers(self, topic):
        path = f"persistent/public/default/{topic}/internalStats"
        return ask(self.broker, "GET", path)["ledgers"]

    def offload(self, topic):
        """Ask for what has ended to be offloaded."""
        upto = {"ledgerId": self.ledgers(topic)[-1]["ledgerId"], "entryId": 0}
        ask(self.broker, "PUT", f"persistent/public/default/{topic}/offload", upto)

    def until(self, holds):
        """Wait for something that the broker does in its own time."""
        end = time.monotonic() + WAIT_S
        while not holds():
            assert time.monotonic() < end, "it did not come about"
            time.sleep(0.02)

    def await_offloaded(self, topic):
        """Wait until all ledgers that have ended are in the folder, and nowhere else."""
        self.offload(topic)
        self.until(
            lambda: all(each.get("copy", {}).get("only") for each in self.ledgers(topic)[:-1])
        )

    @property
    def files(self):
        return sorted(self.folder.rglob("*.parquet*"))

    def recorded(self, topic):
        """The files that the broker knows of."""
        copies = (each["copy"] for each in self.ledgers(topic) if "copy" in each)
        return sorted(self.folder / copy["name"] for copy in copies)

    def restart(self):
        self.broker.kill()
        self.broker.start()


@pytest.fixture
def offloading(tmp_path):
    made = Offloading(tmp_path)
    with made.broker:
        yield made
