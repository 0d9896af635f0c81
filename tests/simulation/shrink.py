"""Makes a plan smaller, as long as the same goes wrong in it."""

import re
from dataclasses import replace

RUNS_MAX = 80


def shrink(plan, outcome, run):
    """A smaller plan with the same finding, and what becomes of it; ``run`` carries one out."""
    kind = _kind(outcome.findings[0])
    left = RUNS_MAX
    smaller = True
    while smaller and left:
        smaller = False
        for candidate in _smaller(plan):
            if not left:
                break
            left -= 1
            found = run(candidate)
            if kind in map(_kind, found.findings):
                plan, outcome, smaller = candidate, found, True
                break
    return plan, outcome


def _kind(finding):
    """A finding without its numbers."""
    return re.sub(r"[\d.]+", "#", finding)[:50]


def _smaller(plan):
    """Plans that are smaller, those first that are much smaller."""
    faults = plan.faults
    size = len(faults)
    while size:
        for start in range(0, len(faults), size):
            yield replace(plan, faults=faults[:start] + faults[start + size :])
        size //= 2
    for each in plan.producing:
        if len(plan.producing) > 1:
            yield replace(plan, producing=_without(plan.producing, each))
    for each in plan.subscribing:
        yield replace(plan, subscribing=_without(plan.subscribing, each))
    for topic in plan.partitions:
        used = {each.topic for each in (*plan.producing, *plan.subscribing)}
        if topic not in used:
            left = {name: count for name, count in plan.partitions.items() if name != topic}
            yield replace(plan, partitions=left)
    for name, value in {"torn": 0.0, "lag_s": 0.0, "lost_answers": 0.0, "rates": {}}.items():
        if getattr(plan, name) != value:
            yield replace(plan, **{name: value})
    for each in plan.producing:
        if each.dies_at:
            yield _with(plan, "producing", each, dies_at=())
        if each.messages > 5:
            yield _with(plan, "producing", each, messages=each.messages // 2)
    for each in plan.subscribing:
        if each.consumers > 1:
            yield _with(plan, "subscribing", each, consumers=1)
        if each.refused or each.forgotten:
            yield _with(plan, "subscribing", each, refused=0.0, forgotten=0.0)


def _without(all_of_them, one):
    return tuple(each for each in all_of_them if each is not one)


def _with(plan, name, one, **changed):
    changes = tuple(
        replace(each, **changed) if each is one else each for each in getattr(plan, name)
    )
    return replace(plan, **{name: changes})
