"""A broker killed again and again in the middle of its work loses nothing it has answered for.

``KILLS`` says how often (6; ``make crash`` does 60), ``SEED`` repeats the choices of a run, though
not the timing of the machine. SIGKILL ends a process, not a machine: what it had written reaches
the disk without it.
"""

import os
import random

import pytest
from crash.campaign import Campaign
from crash.moments import MOMENTS

pytestmark = [pytest.mark.crash, pytest.mark.timeout(1800)]


def test_kills_lose_nothing_that_was_answered(tmp_path):
    another = 1 if os.environ.get("CI") else random.SystemRandom().randrange(1 << 32)
    seed = int(os.environ.get("SEED") or another)
    kills = int(os.environ.get("KILLS") or len(MOMENTS))
    print(f"SEED={seed} KILLS={kills}")
    campaign = Campaign(tmp_path / "data", seed)
    try:
        campaign.begin()
        for life in range(kills):
            moment = MOMENTS[life % len(MOMENTS)]
            campaign.live_and_die(moment)
            print(
                f"life {life + 1}, {moment.__name__}: {campaign.answered_count} answered, "
                f"{campaign.read_back} read back, {campaign.settled_count} acks settled",
                flush=True,
            )
        campaign.end()
        print(f"{campaign.kills} kills: nothing answered was lost")
        assert campaign.settled_count, "nothing was acknowledged long enough before a kill"
    finally:
        campaign.close()
