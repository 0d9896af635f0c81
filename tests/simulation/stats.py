"""What brokers show of their topics agrees with what is stored, and with what applications did.

A topic counts in memory: from when its broker loaded it. It begins a ledger of its own before that,
and the one before was sealed then, so what it counts is what is in the ledgers that were sealed
since, and in the open one.
"""

from simulation.checks import saved
from simulation.stored import HEAD_SIZE, entries_in, records_of

from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.message.metadata import peek
from magnetar.storage.codec.pulsar.message_head import message_of


def are_recorded(history):
    """Whether topics have the ledgers that records name: one may be deleted just then."""
    records = records_of(history.cluster)
    return all(
        {each.ledger_id for each in topic.log.info().ledgers} - {record.open_id}
        == {each.ledger_id for each in record.ledgers}
        for topic in served(history)
        if (record := records.get(topic.name.local)) is not None
    )


def check_logs(history, plan):
    """The entries, bytes and messages of each topic that is served are those of its ledgers."""
    if plan.alone:
        return  # Its ledgers are in one log.
    records = records_of(history.cluster)
    for topic in served(history):
        info, stats, record = topic.log.info(), topic_stats(topic), records[topic.name.local]
        stored = [] if record.open_id is None else _stored(history, record.open_id)
        opened = list(map(message_of, stored))
        count = sum(each.last_entry_id + 1 for each in record.ledgers) + len(opened)
        _same(history, topic, "entries", info.entry_count, count)
        size = sum(each.size_bytes for each in record.ledgers) + sum(map(len, stored))
        _same(history, topic, "bytes stored", stats.storage_bytes, size)
        if not plan.clocks_agree or not plan.retained:
            continue
        ours = [each for each in record.ledgers if each.sealed_ms > stats.created_ms]
        added = sum(each.last_entry_id + 1 for each in ours) + len(opened)
        _same(history, topic, "entries added", info.entries_added, added)
        if any(each.offload for each in ours):
            continue  # They may be in the bucket alone.
        entries = [
            message_of(entry) for each in ours for entry in _stored(history, *each[:2])
        ] + opened
        _same(history, topic, "messages in", stats.msg_in_counter, sum(map(_messages, entries)))
        _same(history, topic, "bytes in", stats.bytes_in_counter, sum(map(len, entries)))


def _stored(history, ledger_id, last=None):
    """What bookies have of the entries of a ledger up to ``last``: messages and their heads."""
    found = sorted(entries_in(history.cluster, ledger_id).items())
    return [each[HEAD_SIZE:] for number, each in found if last is None or number <= last]


def check_backlogs(history, plan):
    """Between what somebody may have acknowledged, and what must be acknowledged."""
    for topic, subscribing, shown in _subscriptions(history, plan):
        info = topic.log.info()
        asked = history.asked[subscribing.topic, subscribing.name]
        entries = [
            numbers for (name, *_), numbers in history.entries.items() if name == str(topic.name)
        ]
        if plan.retained and not subscribing.redeliveries_max:
            untouched = sum(not (numbers.keys() & asked) for numbers in entries)
            if shown.backlog_entries < untouched:
                history.find(
                    f"{topic.name} {subscribing.name} shows a backlog of {shown.backlog_entries}, "
                    f"and nobody acknowledged {untouched} entries"
                )
        done = sum(
            len(entry) - 1 for entry in saved(history, subscribing) if entry[0] == str(topic.name)
        )
        if plan.retained and shown.backlog_entries > info.entry_count - done:
            history.find(
                f"{topic.name} {subscribing.name} shows a backlog of {shown.backlog_entries} of "
                f"{info.entry_count} entries, and {done} were acknowledged"
            )
        _same(
            history,
            topic,
            f"messages that nobody has, {subscribing.name}",
            shown.unacked_messages,
            0,
        )


def check_nothing_left(history, plan):
    """Who has acknowledged all has no backlog."""
    for topic, subscribing, shown in _subscriptions(history, plan):
        for what, count in {
            "backlog": shown.backlog_entries,
            "backlog in bytes": shown.backlog_bytes,
            "unacknowledged": shown.unacked_messages,
            "ranges acknowledged": shown.acked_ranges,
            "to be delivered later": shown.delayed_entries,
            "to be delivered again": shown.replay_entries,
        }.items():
            _same(history, topic, f"{what} of {subscribing.name}", count, 0)


def served(history):
    """The topics of applications that brokers serve, each by one."""
    found = {}
    for server in history.cluster.brokers:
        for name, topic in server.broker.registry.loaded.items():
            if name.local.startswith("topic-") and "-dead" not in name.local:
                if name in found:
                    history.find(f"{name} is served by {server.name}, and by another one")
                found[name] = topic
    return list(found.values())


def _subscriptions(history, plan):
    for topic in served(history):
        shown = topic_stats(topic).subscriptions
        for subscribing in plan.subscribing:
            if subscribing.topic == topic.name.partitioned_name.local and subscribing.name in shown:
                yield topic, subscribing, shown[subscribing.name]


def _messages(entry):
    seen = peek(entry)
    return 0 if seen.is_marker else seen.message_count


def _same(history, topic, what, shown, found):
    if shown != found:
        history.find(f"{topic.name} shows {shown} {what}, not {found}")
