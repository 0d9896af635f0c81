"""What must be true of every run, whatever went wrong in it."""

import logging
import traceback
from collections import defaultdict
from contextvars import copy_context
from math import inf

from simulation.history import number_of
from simulation.stored import lacks_position, left_behind, markers

from magnetar.client.message import entries_of
from magnetar.errors import MagnetarError
from magnetar.model.subscriptions import SubscriptionType
from magnetar.testing.simulation.processes import WALL_MS, process_of

SAVED_S = 5.0
"""Within this time a cursor is saved, where nothing goes wrong."""
READER = "reader"
"""Who consumes last, and all that is left."""
EARLY_S = 1.5
"""So much too early what is late may come: brokers look for it now and then."""
SETTLED_S = 15.0
"""So long after something went wrong all is as before."""


DAMAGED = ("storage.damaged", "storage.footer_damaged", "metadata.damaged")
"""So it begins when a broker says that what was answered is not as it was written."""


class Defects(logging.Handler):
    """What the product itself says is a defect: errors with a traceback that is not ours."""

    def __init__(self, history):
        super().__init__(logging.ERROR)
        self._history = history

    def emit(self, record):
        error = record.exc_info[1] if record.exc_info else None
        process = process_of(copy_context())
        if process is not None and not process.alive:
            return  # It died in the middle of something.
        if record.getMessage().startswith(DAMAGED) and not self._history.damaged:
            self._history.find(record.getMessage())
        if error is not None and not isinstance(error, MagnetarError):
            self._history.find(f"{record.getMessage()}: {error!r}")
            self._history.cluster.story += traceback.format_exception(error)


class Told(logging.Handler):
    """What processes log, as lines of the story."""

    def __init__(self, cluster):
        super().__init__()
        self._cluster = cluster

    def emit(self, record):
        process = process_of(copy_context())
        self._cluster.note(process.name if process else "world", f"| {record.getMessage()}")


def check_deliveries(history, plan, letters):
    """What subscriptions promise; ``letters`` are dead, by the topic they are in."""
    for subscribing in plan.subscribing:
        deliveries = history.deliveries[subscribing.topic, subscribing.name]
        label = f"{subscribing.topic} {subscribing.name} {subscribing.type.printed}"
        dead = set(map(number_of, letters.get(subscribing.dead_letters, ())))
        there = history.subscribed.get((subscribing.topic, subscribing.name), inf)
        since = 0.0 if plan.retained else there  # What was stored before may be gone.
        _all_arrived(
            history, subscribing, {each.number for each in deliveries} | dead, since, label
        )
        _in_order(history, plan, subscribing, deliveries, label)
        _not_again(history, subscribing, deliveries, label)
        if plan.retained or not subscribing.redeliveries_max:  # Else letters may be gone.
            _not_skipped(history, subscribing, deliveries, dead, label)
        if plan.clocks_agree and not subscribing.type.single_active:
            _not_early(history, deliveries, label)


def _all_arrived(history, subscribing, arrived, since, label):
    """Each came to an application, or too often to a client that died with it in its queue."""
    for number, at in history.answered.items():
        of_it = history.sent[number][0] == subscribing.topic and at >= since
        if of_it and number not in arrived:
            history.find(f"{number} was answered, and never delivered: {label}")


def _by_key(plan):
    """The producers whose batches have one key each: they keep the order of a key alone."""
    return {each.name for each in plan.producing if each.by_key}


def _in_order(history, plan, subscribing, deliveries, label):
    """Each is delivered first in the order of its producer, or of its key there."""
    if subscribing.type is SubscriptionType.SHARED:
        return
    keys_alone = subscribing.type is SubscriptionType.KEY_SHARED
    by_key = _by_key(plan)
    mixed = {each.name for each in plan.producing if each.batching and each.keys} - by_key
    late = {each.name for each in plan.producing if each.late_s}
    unordered = late | mixed if keys_alone else set()  # Entries go to the owner of their first key.
    last, seen = {}, set()
    for each in deliveries:
        if each.number in seen:
            continue
        seen.add(each.number)
        key = history.sent[each.number][1]
        if (keys_alone and key is None) or each.number.producer in unordered:
            continue
        if not keys_alone and each.number.producer not in by_key:
            key = None
        lane = each.number.producer, each.topic, key
        if each.number.number < last.get(lane, -1):
            history.find(f"{each.number} came behind {last[lane]}: {label}")
        last[lane] = max(each.number.number, last.get(lane, -1))


def _not_again(history, subscribing, deliveries, label):
    """What was acknowledged is not delivered to who came later, where it must have been saved."""
    ended = acknowledged_whole(history, subscribing)
    troubles = history.troubles()
    for each in deliveries:
        at = ended.get(each.entry, float("inf"))
        if _is_pending(history, subscribing, each.entry, each.number, at):
            continue
        if each.since > at and _is_saved(troubles, at, each.at):
            history.find(
                f"{each.number} came to {each.consumer}, and had been acknowledged: {label}"
            )


def acknowledged_whole(history, subscribing):
    """When all messages of an entry were acknowledged, as somebody had it at one time."""
    acknowledged = history.acknowledged[subscribing.topic, subscribing.name]
    return {
        entry: min(whole)
        for entry, turns in acknowledged.items()
        if (
            whole := [
                max(times.values())
                for times in turns.values()
                if len(times) == history.sizes[entry]
            ]
        )
    }


def _is_pending(history, subscribing, entry, number, at):
    """Whether a message was, or just had been, pending when its entry was acknowledged.

    Who acknowledges an entry may not have been given it: it comes again when it is taken back.
    """
    spans = history.pending[subscribing.topic, subscribing.name, entry, number]
    return any(begin < end and begin <= at < end + SAVED_S for begin, end in spans)


def _is_saved(troubles, at, now):
    """Whether what was acknowledged is kept in any case.

    A cursor is saved so often a second as is set, and before it is handed over: who dies first, or
    cannot save it, takes along what was acknowledged since.
    """
    return not any(
        begin < min(now, at + SAVED_S) and at < end + SETTLED_S for begin, end in troubles
    )


def saved(history, subscribing):
    """The entries that are acknowledged, and will be in any case."""
    troubles, now = history.troubles(), history.now
    return {
        entry
        for entry, at in acknowledged_whole(history, subscribing).items()
        if _is_saved(troubles, at, now)
        and not any(
            _is_pending(history, subscribing, entry, each, at) for each in history.entries[entry]
        )
    }


def _not_skipped(history, subscribing, deliveries, dead, label):
    """What nobody acknowledged comes again, to who consumes last."""
    asked = history.asked[subscribing.topic, subscribing.name]
    last = {each.number for each in deliveries if each.consumer == READER}
    delivered = dict.fromkeys(each.number for each in deliveries)
    for number in delivered:
        if number not in asked | dead | last:
            history.find(f"{number} was not acknowledged, and comes no more: {label}")
    if subscribing.lives_s >= 1000 and not history.troubles():
        for number in dead - delivered.keys():
            history.find(f"{number} is dead, and was never delivered: {label}")


def _not_early(history, deliveries, label):
    for each in deliveries:
        due = history.due.get(each.number, 0.0)
        if each.at < due - EARLY_S:
            history.find(f"{each.number} was delivered {due - each.at:.1f} s early: {label}")


def check_compacted(history, stored, compacted):
    """What compaction leaves: of each key the last message."""
    for topic, messages in compacted.items():
        there = set(map(number_of, messages))
        last = {
            (each.topic, each.key): number_of(each)
            for each in stored[topic]
            if each.key is not None
        }
        for (_, key), number in last.items():
            if number not in there:
                history.find(f"{number} is the last of {key}, and not in compacted {topic}")


def check_seeking(history, seekers, stored):
    """What readers got behind the place that they sought."""
    for seeker in seekers:
        messages = stored[seeker.topic]
        numbers = [number_of(each) for each in messages]
        first = {number: at for at, number in reversed(list(enumerate(numbers)))}
        last = {number: at for at, number in enumerate(numbers)}
        for behind, seen in seeker.seen:
            if behind is not None and first[behind] != last[behind]:
                continue  # It is stored twice: nobody knows which was meant.
            come = numbers
            if behind is not None:
                at = first[behind]
                come = [number_of(each) for each in _behind(messages[at], messages[at + 1 :])]
            if seen != come[: len(seen)]:
                history.find(
                    f"behind {behind} came {list(map(str, seen))} in {seeker.topic}, not "
                    f"{list(map(str, come[: len(seen)]))}"
                )


def _behind(message, later):
    """Those of ``later`` that are behind a message as a whole: no chunk of them is before it."""
    place = entries_of(message)[-1]
    return [each for each in later if entries_of(each)[0] >= place]


def check_stored(history, plan, stored):
    """What is in each topic: lists of messages, by topic."""
    for topic, messages in stored.items():
        numbers = [number_of(each) for each in messages]
        there = set(numbers)
        for number in history.answered:
            if plan.retained and history.sent[number][0] == topic and number not in there:
                history.find(f"{number} was answered, and is not stored in {topic}")
        stored_in_order(history, plan, messages, topic)
        for producing in plan.producing:
            if producing.again and producing.topic == topic:
                own = [each for each in numbers if each.producer == producing.name]
                for number in {each for each in own if own.count(each) > 1}:
                    history.find(f"{number} is stored {own.count(number)} times in {topic}")
    if plan.retained:
        all_or_nothing(history, stored)


def stored_in_order(history, plan, messages, topic):
    by_key = _by_key(plan)
    last, seen = {}, set()
    for message in messages:
        number = number_of(message)
        key = history.sent[number][1] if number.producer in by_key else None
        lane = number.producer, message.topic, key
        if (number, message.topic) not in seen and number.number < last.get(lane, -1):
            history.find(f"{number} is stored behind {last[lane]} in {topic}")
        seen.add((number, message.topic))
        last[lane] = max(number.number, last.get(lane, -1))


def all_or_nothing(history, stored):
    times = defaultdict(int)
    for messages in stored.values():
        for each in messages:
            times[number_of(each)] += 1
    for group, committed in history.committed.items():
        found = [times[number] for number in group]  # What was sent again may be there twice.
        if any(found) and not all(found):
            history.find(f"a transaction is there in parts: {list(map(str, group))} {found}")
        elif committed is False and found[0]:
            history.find(f"a transaction was aborted, and is there: {list(map(str, group))}")
        elif committed and not found[0]:
            history.find(f"a transaction was committed, and is lost: {list(map(str, group))}")


def check_records(history, since_s):
    """What records and disks have at the end; ``since_s`` nothing went wrong.

    But a broker may have stopped since: what it does not end in time is left, as by a kill.
    """
    since_s = max([since_s, *(end for _, end in history.outages() if end < history.now)])
    cluster = history.cluster
    for (log, transaction), found in markers(cluster).items():
        if len(found) > 1:
            history.find(f"transaction {transaction} has ended {len(found)} times in {log}")
    left = left_behind(cluster, WALL_MS + int(since_s * 1000))
    if left:
        history.find(f"ledgers that nobody lists: {left}")


def check_cursors(history):
    """Let what is written of cursors be looked at: a position is stored before a record says so."""

    def written(operation):
        if lacks_position(history.cluster, operation):
            history.find(f"{operation.path} names a ledger that does not have its position yet")

    history.cluster.ensemble.written = written


STANDING = ("kazoo", "broker:", "transactions:adopt", "ledgers:")
"""How the tasks begin that a broker has which nobody uses."""
WAITING = ":abandoned"
"""How those end that wait a minute for a reader that may come back."""


def check_leaks(history, before):
    """What servers still have when all clients have gone, and nothing goes wrong any more.

    ``before`` are the tasks that there were then already.
    """
    cluster = history.cluster
    sessions, servers = len(cluster.ensemble.sessions), len(cluster.servers) - 1
    if sessions != servers:
        history.find(f"{sessions} sessions of {servers} servers")
    own = {each.name for each in cluster.servers}
    names = {each.name for region in cluster.regions for each in region.servers}
    for each in cluster.brokers:
        process = each.process
        names_left = sorted(task.get_name() for task in process.tasks if task in before)
        left = [
            name
            for name in names_left
            if not name.startswith((*STANDING, each.name)) and not name.endswith(WAITING)
        ]
        if left:
            history.find(f"{each.name} still has tasks: {left}")
        there = [end.there for end in cluster.network.transports if end.process is process]
        afar = [other for other in there if other not in own]
        timers = cluster.loop.timers_of(process)
        if len(timers) > len(process.tasks) + len(afar) + 3:
            history.find(f"{each.name} still has {len(timers)} timers: {timers}")
        strange = sorted(set(there) - names)
        if strange or len(there) - len(afar) > 3 * len(names):
            history.find(f"{each.name} still has {len(there)} connections, to {strange or names}")


def check_failures(history, loop):
    """What the loop was told and nobody handled."""
    for failure in loop.failures:
        error = failure.get("exception")
        if not isinstance(error, MagnetarError):
            history.find(f"nobody handled: {failure.get('message')} {error!r}")
            history.cluster.story += traceback.format_exception(error) if error else []
