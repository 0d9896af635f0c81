"""Every target, for a moment: with the same seed each time, and with another one but in CI.

``make fuzz`` runs them at length. What a failing seed did, it does again: put it in as ``SEED``.
"""

import os
from random import Random, SystemRandom

import pytest
from fuzz import disks, records
from fuzz.decoding import Streams, check
from fuzz.hostile import ClientTally, torment
from fuzz.reading import Entries
from fuzz.siege import SETTINGS, besiege
from fuzz.web import WebAttacker, WebTally

from magnetar.testing.local_broker import LocalBroker
from magnetar.testing.processes import BrokerProcess

SEED = 20_261_121


@pytest.fixture(params=["the same"] if os.environ.get("CI") else ["the same", "another"])
def seed(request):
    chosen = SEED if request.param == "the same" else SystemRandom().randrange(1 << 32)
    print(f"seed {chosen}")
    return chosen


def test_the_decoder_gives_frames_or_protocol_errors(seed):
    streams = Streams(seed)
    kinds = set()
    for _ in range(2000):
        data, _ = streams.next()
        try:
            kinds.add(check(data, streams.chance))
        except Exception:
            print(data.hex())
            raise
    assert kinds == {"frames", "MalformedFrame", "FrameTooLarge"}, "it should meet all of them"


def test_entries_are_read_or_corrupt(seed):
    entries = Entries(seed)
    kinds = set()
    for _ in range(800):
        some = entries.next()
        try:
            kinds.add(entries.check(some))
        except Exception:
            print([entry.hex() for entry in some])
            raise
    assert "CorruptEntry" in kinds
    assert "read" in kinds


async def test_a_live_broker_and_its_other_clients_live_on(seed, tmp_path):
    # Takes seconds: a process, a client of its own, and thousands of frames one way and back.
    with BrokerProcess(tmp_path / "data", settings=SETTINGS) as broker:
        report = await besiege(broker, frames=2000, seed=seed)
    assert not report.findings, "\n".join(report.findings)
    assert report.tally.hung_up, "some conversations should have ended badly"
    assert report.tally.answers["MESSAGE"], "some should have got as far as deliveries"


async def test_a_client_copes_with_a_hostile_broker(seed):
    tally = ClientTally()
    for life in range(5):
        await torment(seed + life, tally)
    assert not tally.findings, "\n".join(tally.findings)
    assert tally.spoiled
    assert tally.outcomes["send: done"]


async def test_the_admin_api_never_fails_and_never_hangs(seed, caplog):
    tally = WebTally()
    async with LocalBroker() as broker:
        await WebAttacker(broker.web_port, seed, tally).attack(400)
    assert not tally.findings, "\n".join(tally.findings)
    failed = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert not failed, "\n".join(failed)
    assert {"200", "400", "404"} <= set(tally.statuses)


async def test_segment_files_are_read_or_named(seed, tmp_path):
    chance = Random(seed)
    target = disks.Disks(await disks.corpus(tmp_path, chance), tmp_path / "now", chance)
    kinds = {await target.check() for _ in range(60)}
    assert kinds == {"all there", "entries lost", "StorageError"}


async def test_metadata_records_are_used_or_named(seed):
    target = records.Records(Random(seed))
    await target.prepare()
    kinds = {await target.check() for _ in range(800)}
    assert {"used", "CorruptEntry"} <= kinds
