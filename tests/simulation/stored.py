"""What is stored in a simulated cluster, as one sees it who looks at records and disks."""

import re
from collections import defaultdict

from magnetar.message.metadata import peek
from magnetar.storage.codec.pulsar.ledgers_named import (
    named_by_cursor,
    named_by_log,
    named_by_schema,
)
from magnetar.storage.codec.pulsar.message_head import message_of
from magnetar.storage.codec.pulsar_codec import PulsarCodec
from magnetar.storage.ledger.bookkeeper.ledger_paths import ledger_id_of
from magnetar.storage.metadata import paths

LOGS = f"{paths.MANAGED_LEDGERS}/public/default/persistent/"
LEDGERS = "/ledgers"
HEAD_SIZE = 36  # Of an entry, with a digest of CRC32C.


def markers(cluster):
    """How often each transaction has ended in each log: those that end it, by log and its id."""
    found = defaultdict(list)
    for log, ledgers in logs_of(cluster).items():
        if "__transaction_" in log:
            continue  # It has records.
        for ledger_id, last in ledgers:
            for entry_id, stored in entries_in(cluster, ledger_id).items():
                if last is not None and entry_id > last:
                    continue
                seen = peek(message_of(stored[HEAD_SIZE:]))
                if seen.marker_type is not None and seen.transaction is not None:
                    found[log, seen.transaction].append((ledger_id, entry_id))
    return found


def topics_of(cluster):
    """The topics that are stored, but for those of brokers."""
    return [each for each in logs_of(cluster) if not each.startswith("__")]


def cluster_named_in(cluster):
    """Of each entry of a topic, by who published it: its place, that cluster, the one it names."""
    names = "|".join(each.name for each in cluster.regions)
    published_in = re.compile(rf"({names})-producer-\d+:\d+\|".encode())
    for topic in topics_of(cluster):
        for ledger_id, _ in logs_of(cluster)[topic]:
            for entry_id, stored in entries_in(cluster, ledger_id).items():
                entry = message_of(stored[HEAD_SIZE:])
                published = published_in.search(entry)
                if published is not None:
                    place = f"{topic} {ledger_id}:{entry_id}"
                    yield place, published[1].decode(), peek(entry).replicated_from


def lacks_position(cluster, operation):
    """Whether the record of a cursor that is being written names a ledger which has no position."""
    path = operation.path
    depth = path.count("/") - paths.MANAGED_LEDGERS.count("/") - paths.MANAGED_LEDGER_DEPTH
    if depth != 1 or not operation.value or not path.startswith(f"{paths.MANAGED_LEDGERS}/"):
        return False
    kept_in = PulsarCodec().decode_cursor(operation.value, source=path).kept_in
    return kept_in is not None and not entries_in(cluster, kept_in)


def left_behind(cluster, since_ms):
    """The ledgers that were made after a time, and that no record names."""
    named = set()
    for path, node in cluster.ensemble.znodes.nodes.items():
        if path.startswith(f"{paths.SCHEMAS}/") and path.count("/") > 3 and node.value:
            named |= named_by_schema(node.value, source=path)
        elif path.startswith(f"{paths.MANAGED_LEDGERS}/"):
            depth = path.count("/") - paths.MANAGED_LEDGERS.count("/") - paths.MANAGED_LEDGER_DEPTH
            if depth == 0:
                named |= named_by_log(node.value, source=path)
            elif depth == 1:
                named |= named_by_cursor(node.value, source=path)
    return sorted(
        ledger_id
        for path, node in cluster.ensemble.znodes.nodes.items()
        if (ledger_id := ledger_id_of(path.removeprefix(LEDGERS))) is not None
        and node.stat.ctime >= since_ms
        and ledger_id not in named
    )


def logs_of(cluster):
    """The ledgers of each log, with the last entry of each that has ended."""
    return {
        log: [(each.ledger_id, each.last_entry_id) for each in record.ledgers]
        + ([] if record.open_id is None else [(record.open_id, None)])
        for log, record in records_of(cluster).items()
    }


def records_of(cluster):
    """What is recorded of each log."""
    return {
        path.removeprefix(LOGS): PulsarCodec().decode_ledger_list(node.value, source=path)
        for path, node in cluster.ensemble.znodes.nodes.items()
        if path.startswith(LOGS) and path.count("/") == LOGS.count("/")
    }


def entries_in(cluster, ledger_id):
    """What bookies have of a ledger, but for what is torn."""
    found = {}
    for bookie in cluster.bookies:
        ledger = bookie.disk.synced.get(ledger_id)
        if ledger is not None:
            found |= {at: each for at, each in ledger.entries.items() if at not in ledger.torn}
    return found
