"""The measurement of delayed messages, in small: what it holds back is there after a restart."""

import re
from math import inf

from bench import delays


async def test_what_was_held_back_is_there_after_a_restart_and_taken_when_it_is_due(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(delays, "MEMORY_MB_MAX", inf)  # Other tests took memory in this process.
    await delays.fill(tmp_path, 50_000, 1.0)
    await delays.reopen(tmp_path, 50_000, 1.0)
    lines = capsys.readouterr().out.splitlines()
    counts = [int(re.search(r"([\d,]+) entries", line)[1].replace(",", "")) for line in lines]
    assert counts[:2] == [50_000, 40_000], "the last ones are in no bucket, but in the log"
    assert 300 < counts[2] < 500
