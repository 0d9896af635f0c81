"""A log torn anywhere in its last record: everything before it is there, and it is gone or whole.

Every byte, with the store alone, in this process: a start of a broker for each would take an hour.
Some bytes, with whole brokers, started by the real command.
"""

import os

import pytest
from faults.folders import MESSAGES, TOPICS, examine, flip
from unit.storage.ledger.local.support import append, everything, run, snapshot

from magnetar.storage.ledger.local.settings import LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore
from magnetar.storage.ledger.local.synced_mark import NAME

pytestmark = [pytest.mark.crash, pytest.mark.timeout(200)]

SETTINGS = LocalLedgerSettings(segment_size=16 * 1024)
BEFORE = [b"first", b"second" * 50]
LAST = [b"torn", b"", bytes(range(60))]
HEADER = 4096  # Bytes of a segment's header; then comes the first record.
JUNK = bytes(range(256)) * 64


async def torn_everywhere(tmp_path, tear):
    """Tear a copy of the log at each byte of its last record; what each start found of it."""
    folder = tmp_path / "ledgers"
    store = await LocalLedgerStore.start(folder, settings=SETTINGS)
    writer = await store.create()
    await append(writer, *run(*BEFORE))
    start = store.segments[1].tail
    mark = (folder / NAME).read_bytes()
    await append(writer, *run(*LAST))
    end = store.segments[1].tail
    copy = snapshot(folder, tmp_path / "copy")
    await store.close()
    (path,) = copy.glob("segment-*.log")
    whole = path.read_bytes()
    results = {}
    for at in range(start, end + 1):
        path.write_bytes(tear(whole, at))
        (copy / NAME).write_bytes(mark)  # As it is before the last append is answered.
        for spare in copy.glob("spare-*"):
            spare.unlink()
        store = await LocalLedgerStore.start(copy, settings=SETTINGS)
        found = await everything(await store.open(writer.ledger_id))
        assert found[: len(BEFORE)] == BEFORE, f"torn at {at}"
        results[at] = found[len(BEFORE) :]
        # Whoever is told of an end once is told the same for ever; and the log goes on.
        other = await store.create()
        assert other.ledger_id > writer.ledger_id
        await append(other, *run("after"))
        await store.close()
        store = await LocalLedgerStore.start(copy, settings=SETTINGS)
        assert await everything(await store.open(writer.ledger_id)) == found
        assert await everything(await store.open(other.ledger_id)) == [b"after"]
        await store.close()
    return results, end


TEARS = {
    "cut": lambda whole, at: whole[:at],
    "zeroed": lambda whole, at: whole[:at].ljust(len(whole), b"\0"),
    "junk": lambda whole, at: whole[:at] + JUNK[: len(whole) - at],
    "a bit": lambda whole, at: (
        whole[:at] + bytes(each ^ 16 for each in whole[at : at + 1]) + whole[at + 1 :]
    ),
}


@pytest.mark.parametrize("tear", TEARS)
async def test_a_log_torn_at_every_byte_of_its_last_record(tmp_path, tear):
    # Takes seconds: a log is recovered for each byte.
    results, end = await torn_everywhere(tmp_path, TEARS[tear])
    for at, found in results.items():
        assert found in ([], LAST), f"torn at {at}, the last append is there in part"
    assert results[end] == LAST, "what lies behind the last record is none of its business"


def last_record(filled):
    """Where the last record of the log begins and ends: it holds the last message of a topic."""
    data = filled.segments[-1].read_bytes()
    salt = data[HEADER : HEADER + 8]  # All records of a segment begin with it.
    text = f"{TOPICS[-1]} {MESSAGES - 1} ".encode()
    body_end = data.index(text) + 3000
    return data.rindex(salt, 0, data.index(text)), body_end


@pytest.mark.parametrize(
    "share", [0.0, 0.02, 0.05, 0.5, 1.0] if os.environ.get("FAULTS") else [0.5]
)
@pytest.mark.parametrize("tear", TEARS)
def test_a_broker_on_a_log_torn_in_its_last_record(killed, tmp_path, share, tear):
    filled = killed.copy(tmp_path / "data")
    start, end = last_record(filled)
    path = filled.segments[-1]
    path.write_bytes(TEARS[tear](path.read_bytes(), start + int(share * (end - 1 - start))))
    (filled.ledgers / NAME).unlink()
    gone = filled.ids[TOPICS[-1]].pop()  # Without a mark it may never have been answered.
    found = examine(filled)
    assert not found.refusal
    assert not any(found.missing.values()), f"more is gone than {gone}"
    assert share == 0.0 or "maybe answered" in found.log
    assert "never answered" not in found.log


def test_a_broker_tells_a_flipped_byte_in_its_last_record_from_a_torn_one(killed, tmp_path):
    filled = killed.copy(tmp_path / "data")
    _, end = last_record(filled)
    flip(filled.segments[-1], end - 1000)
    found = examine(filled)
    assert not found.refusal
    # Its place is known, so whoever reads it is told; nothing else is gone.
    assert {topic: gone for topic, gone in found.missing.items() if gone} == {
        TOPICS[-1]: [MESSAGES - 1]
    }
    assert "storage.damaged" in found.log
    assert "storage.tail_cut" not in found.log
