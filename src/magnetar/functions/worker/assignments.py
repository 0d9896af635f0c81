"""Which worker runs which function: records of a topic, and how the leader chooses. Pure.

A record is JSON under the function's full name, in ``persistent://public/functions/assignments``.
It is of all instances of a function, as these are the tasks of one query.
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from magnetar.errors import InvalidValue
from magnetar.functions.worker.metadata import NAMESPACE

TOPIC: Final = f"persistent://{NAMESPACE}/assignments"


def encode(worker: str) -> bytes:
    """As it is kept."""
    return json.dumps({"workerId": worker}).encode()


def decode(data: bytes) -> str:
    """The worker of a record, whose other keys are passed over. Raises InvalidValue."""
    try:
        return str(json.loads(data)["workerId"])
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidValue(f"a record of {TOPIC} cannot be read: {error!r}") from error


def placed(
    instances: Mapping[str, int],
    assigned: Mapping[str, str],
    *,
    there: Collection[str],
    missed: Collection[str],
) -> dict[str, str]:
    """The functions that need another worker, with it: that which has the fewest instances.

    ``instances`` says how many a function has. Workers that are ``there`` can be chosen; those
    that are ``missed`` keep what they have a while longer.
    """
    if not there:
        return {}
    kept = {name: at for name, at in assigned.items() if at in there or at in missed}
    loads = _loads(instances, kept, there)
    found = {}
    for name in sorted(instances.keys() - kept.keys()):
        worker = found[name] = _least(loads)
        loads[worker] += instances[name]
    return found


def rebalanced(
    instances: Mapping[str, int], assigned: Mapping[str, str], there: Collection[str]
) -> dict[str, str]:
    """The functions to move so that workers have as many instances as each other, and whereto."""
    now = dict(assigned)
    loads = _loads(instances, now, there)
    while True:
        fullest, least = max(sorted(loads), key=loads.__getitem__), _least(loads)
        gap = loads[fullest] - loads[least]
        movable = sorted(
            (name for name, at in now.items() if at == fullest and instances.get(name, gap) < gap),
            key=lambda name: (-instances[name], name),
        )
        if not movable:
            return {name: at for name, at in now.items() if at != assigned[name]}
        best = min(movable, key=lambda name: abs(gap - 2 * instances[name]))
        now[best] = least
        loads[fullest] -= instances[best]
        loads[least] += instances[best]


def _loads(
    instances: Mapping[str, int], assigned: Mapping[str, str], there: Collection[str]
) -> Counter[str]:
    loads = Counter(dict.fromkeys(there, 0))
    for name, worker in assigned.items():
        if worker in there:
            loads[worker] += instances.get(name, 0)
    return loads


def _least(loads: Mapping[str, int]) -> str:
    return min(sorted(loads), key=loads.__getitem__)
