"""What producers sent, as entries of one append."""

from collections.abc import Sequence

from magnetar.message.send_run import SendRun
from magnetar.storage.managed_ledger.entries import Appendable, Entries


def joined(runs: Sequence[tuple[object, SendRun]]) -> Appendable:
    """The entries of all runs, of which there is at least one, in their order."""
    first = runs[0][1]
    if len(runs) == 1:
        return first
    traits = first.traits.joined([run.traits for _, run in runs[1:]])
    entries = Entries([], [], traits, sum(run.size_bytes for _, run in runs))
    for _, run in runs:
        entries.data.extend(run.data)
        entries.checksums.extend(run.checksums)
    return entries
