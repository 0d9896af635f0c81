"""Advice for a refused verb: the option, the verb or the topic that was probably meant."""

import re
from typing import Final

from magnetar.errors import Conflict, MagnetarError, NotFound, Refused
from magnetar.model.names import TopicName

from .call import Call
from .kinds import TOPIC
from .verb import PREFIX

_IN_USE: Final = re.compile(r"\bactive\b|\bnon[- ]empty\b|\bnot empty\b|\bconnected\b")
"""How brokers say that something is not deleted because it is in use, or not empty."""
_NO_TOPIC: Final = re.compile(r"^Topic (\S+) not found")
_NOT_PARTITIONED: Final = re.compile(r"^Partitioned Topic")
_PARTITIONED: Final = re.compile(r"(?:on|of) a partitioned topic is not allowed")
_OF_PARTITIONS: Final = {
    "stats": "partitioned-stats",
    "stats-internal": "partitioned-stats-internal",
    "terminate": "partitioned-terminate",
}
_OF_ONE: Final = {partitioned: one for one, partitioned in _OF_PARTITIONS.items()}


def advised(call: Call, error: MagnetarError) -> MagnetarError:
    """The error, with what helps; as it is where nothing of the kind does."""
    advice, said = "", str(error)
    missing = _NO_TOPIC.search(said) if isinstance(error, NotFound) else None
    if missing and _is_partitioned(call, missing[1]):
        advice = f"it is a partitioned topic: {_of_partitions(call, missing[1])}"
    elif isinstance(error, NotFound) and _NOT_PARTITIONED.search(said):
        verb = _OF_ONE.get(call.verb.name)
        advice = f"`magnetar admin topics {verb}` is for a topic without partitions" if verb else ""
    elif _PARTITIONED.search(said):
        advice = _of_partitions(call, str(call.given["topic"]))
    elif isinstance(error, Conflict | Refused) and _IN_USE.search(said):
        advice = _force(call)
    return type(error)(f"{error}; {advice}") if advice else error


def _force(call: Call) -> str:
    force = next((one for one in call.verb.params if one.to == "?force"), None)
    if force is None or call.given.get(force.name):
        return ""
    name = max(force.names, key=len)
    about = force.about[0].lower() + force.about[1:].rstrip(".")
    return f"{name} deletes it all the same: {about}"


def _is_partitioned(call: Call, topic: str) -> bool:
    """Whether it is the partitions of the name that are topics."""
    try:
        path = TOPIC.path(TopicName.parse(topic))
        return bool(call.api.get(f"{PREFIX}/{path}/partitions")["partitions"])
    except MagnetarError:  # There is none of the name, or nobody may say.
        return False


def _of_partitions(call: Call, topic: str) -> str:
    verb = _OF_PARTITIONS.get(call.verb.name)
    if verb is not None:
        return f"magnetar admin topics {verb} {topic}"
    return f"name one of its partitions, {topic}-partition-0 and so on"
