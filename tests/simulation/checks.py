"""What must be true of every run, whatever went wrong in it."""

import logging
import traceback
from collections import defaultdict
from contextvars import copy_context

from simulation.history import number_of

from magnetar.errors import MagnetarError
from magnetar.model.subscriptions import SubscriptionType
from magnetar.testing.simulation.processes import process_of

SAVED_S = 5.0
"""Within this time a cursor is saved, where nothing goes wrong."""
SETTLED_S = 60.0
"""So long after something went wrong all is as before."""


class Defects(logging.Handler):
    """What the product itself says is a defect: errors with a traceback that is not ours."""

    def __init__(self, history):
        super().__init__(logging.ERROR)
        self._history = history

    def emit(self, record):
        error = record.exc_info[1] if record.exc_info else None
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


def check_deliveries(history, plan):
    """What subscriptions promise."""
    for subscribing in plan.subscribing:
        deliveries = history.deliveries[subscribing.topic, subscribing.name]
        label = f"{subscribing.topic} {subscribing.name} {subscribing.type.printed}"
        _all_arrived(history, subscribing, deliveries, label)
        _in_order(history, plan, subscribing, deliveries, label)
        _not_again(history, subscribing, deliveries, label)


def _all_arrived(history, subscribing, deliveries, label):
    delivered = {each.number for each in deliveries}
    for number in history.answered:
        if history.sent[number][0] == subscribing.topic and number not in delivered:
            history.find(f"{number} was answered, and never delivered: {label}")


def _by_key(plan):
    """The producers whose batches have one key each: they keep the order of a key alone."""
    return {each.name for each in plan.producing if each.batching and each.keys}


def _in_order(history, plan, subscribing, deliveries, label):
    """Each is delivered first in the order of its producer, or of its key there."""
    if subscribing.type is SubscriptionType.SHARED:
        return
    keys_alone = subscribing.type is SubscriptionType.KEY_SHARED
    by_key = _by_key(plan)
    last, seen = {}, set()
    for each in deliveries:
        if each.number in seen:
            continue
        seen.add(each.number)
        key = history.sent[each.number][1]
        if keys_alone and key is None:
            continue
        if not keys_alone and each.number.producer not in by_key:
            key = None
        lane = each.number.producer, each.topic, key
        if each.number.number < last.get(lane, -1):
            history.find(f"{each.number} came behind {last[lane]}: {label}")
        last[lane] = max(each.number.number, last.get(lane, -1))


def _not_again(history, subscribing, deliveries, label):
    """What was acknowledged is not delivered to who came later.

    A cursor is saved so often a second as is set, and before it is handed over: who dies first, or
    cannot save it, takes along what was acknowledged since.
    """
    acknowledged = history.acknowledged[subscribing.topic, subscribing.name]
    ended = {
        entry: max(times.values())
        for entry, times in acknowledged.items()
        if times.keys() >= history.entries[entry].keys()
    }
    failures = history.failures()
    for each in deliveries:
        at = ended.get(each.entry, float("inf"))
        if each.since > at and not any(
            at - SETTLED_S < failure < min(each.since, at + SAVED_S) for failure in failures
        ):
            history.find(
                f"{each.number} came to {each.consumer}, and had been acknowledged: {label}"
            )


def check_stored(history, plan, stored):
    """What is in each topic: lists of messages, by topic."""
    for topic, messages in stored.items():
        numbers = [number_of(each) for each in messages]
        there = set(numbers)
        for number in history.answered:
            if plan.retained and history.sent[number][0] == topic and number not in there:
                history.find(f"{number} was answered, and is not stored in {topic}")
        _stored_in_order(history, plan, messages, topic)
        for producing in plan.producing:
            if producing.again and producing.topic == topic:
                own = [each for each in numbers if each.producer == producing.name]
                for number in {each for each in own if own.count(each) > 1}:
                    history.find(f"{number} is stored {own.count(number)} times in {topic}")
    if plan.retained:
        _all_or_nothing(history, stored)


def _stored_in_order(history, plan, messages, topic):
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


def _all_or_nothing(history, stored):
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


def check_failures(history, loop):
    """What the loop was told and nobody handled."""
    for failure in loop.failures:
        error = failure.get("exception")
        if not isinstance(error, MagnetarError):
            history.find(f"nobody handled: {failure.get('message')} {error!r}")
            history.cluster.story += traceback.format_exception(error) if error else []
