"""What a refused verb could be instead: the option, the verb or the topic that was meant."""

import re
from typing import Final

from magnetar.errors import Conflict, MagnetarError, NotFound, Refused

from .call import Call
from .kinds import TOPIC
from .verb import PREFIX

_IN_USE: Final = re.compile(r"\bactive\b|\bnon[- ]empty\b|\bnot empty\b|\bconnected\b")
"""How brokers say that something is not deleted since somebody uses it, or something is in it."""
_OF_PARTITIONS: Final = {
    "stats": "partitioned-stats",
    "stats-internal": "partitioned-stats-internal",
}


def advised(call: Call, error: MagnetarError) -> MagnetarError:
    """The error, with what helps; as it is where nothing of the kind does."""
    advice = ""
    if isinstance(error, NotFound):
        advice = _partitions(call)
    elif isinstance(error, Conflict | Refused) and _IN_USE.search(str(error)):
        advice = _force(call)
    return type(error)(f"{error}; {advice}") if advice else error


def _force(call: Call) -> str:
    force = next((one for one in call.verb.params if one.to == "?force"), None)
    if force is None or call.given.get(force.name):
        return ""
    name = max(force.names, key=len)
    about = force.about[0].lower() + force.about[1:].rstrip(".")
    return f"{name} deletes it all the same: {about}"


def _partitions(call: Call) -> str:
    """A topic of the name may be partitioned: then it is its partitions that are topics."""
    topic = call.given.get("topic")
    path = call.verb.path
    if topic is None or "{topic}" not in path or path.startswith("/"):
        return ""
    local = TOPIC.path(topic)
    try:
        count = call.api.get(f"{PREFIX}/{local}/partitions")["partitions"]
    except MagnetarError:  # There is none of the name, or nobody may say.
        return ""
    if not count:
        return ""
    verb = _OF_PARTITIONS.get(call.verb.name)
    if verb is not None:
        return f"it is a partitioned topic: magnetar admin topics {verb} {topic}"
    return f"it is a partitioned topic: name one of its partitions, {topic}-partition-0 and so on"
