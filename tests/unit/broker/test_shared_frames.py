"""Frames are made once for all who get the same, and dropped after the loop iteration."""

import asyncio

from magnetar.broker.shared_frames import SharedFrames
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.wire import replies


def run():
    return EntryRun(3, 0, [b"\0\0\0\0a", b"\0\0\0\0b"], [1, 2])


async def test_consumers_with_the_same_id_share_within_a_turn():
    shared = SharedFrames(asyncio.get_running_loop())
    one = run()
    first = shared.of(1, one, -1)
    assert first == replies.message_frames(1, one, partition=-1)
    assert shared.of(1, one, -1) is first
    await asyncio.sleep(0)
    assert shared.of(1, one, -1) is not first


async def test_other_ids_partitions_and_runs_have_their_own():
    shared = SharedFrames(asyncio.get_running_loop())
    one = run()
    first = shared.of(1, one, -1)
    assert shared.of(2, one, -1) != first
    assert shared.of(1, one, 4) != first
    assert shared.of(1, run(), -1) is not first
