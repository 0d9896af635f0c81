"""What the options of ``format("pulsar")`` have in common: their values, checked. Pure."""

import difflib
from collections.abc import Mapping
from contextlib import suppress

from magnetar.errors import InvalidName, InvalidValue
from magnetar.model.names import TopicName
from magnetar.spark.client_settings import PREFIX, as_given

TIMEOUT_S = 30.0
_SPARKS_OWN = frozenset(
    {"path", "checkpointlocation", "queryname"}
    | {"asyncprogresstrackingenabled", "asyncprogresstrackingcheckpointintervalms"}
    | {"_asyncprogresstrackingoverridesinksupportcheck"}
)
"""Options that Spark itself reads from the same map, in lower case."""
_ELSEWHERE = {
    "assign": "give a partition's name in the option topics",
    "endingOffsetsByTimestamp": "endingTime, which takes JSON by topic, too",
    "kafka.bootstrap.servers": "service.url",
    "maxOffsetsPerTrigger": "maxMessagesPerTrigger",
    "startingOffsetsByTimestamp": "startingTime, which takes JSON by topic, too",
    "subscribe": "topic, or topics with commas between",
    "subscribePattern": "topicsPattern",
}
"""What other connectors call theirs, or have and this one has not."""


def known(options: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """Our options under their own spelling, without Spark's own. Raises InvalidValue for others."""
    spelling = {name.lower(): name for name in names}
    found: dict[str, str] = {}
    for name, value in options.items():
        lower = name.lower()
        if lower in spelling:
            found[spelling[lower]] = value.strip()
        elif lower not in _SPARKS_OWN and not lower.startswith(PREFIX):
            raise InvalidValue(_unknown(name, spelling))
    return found


def _unknown(name: str, spelling: Mapping[str, str]) -> str:
    """Suggest an option to write instead. Unknown names have lost their spelling."""
    elsewhere = {other.lower(): other for other in _ELSEWHERE}
    close = difflib.get_close_matches(name.lower(), spelling, n=1, cutoff=0.8)
    if close:
        return f"unknown option {as_given(name)}: did you mean '{spelling[close[0]]}'?"
    if name.lower() in elsewhere:
        other = elsewhere[name.lower()]
        return f"unknown option '{other}': other connectors have it; here: {_ELSEWHERE[other]}"
    return f"unknown option {as_given(name)}: there are {', '.join(spelling.values())}"


def admin_url(given: Mapping[str, str]) -> str | None:
    url = given.get("admin.url")
    if url is not None and not url.startswith(("http://", "https://")):
        raise InvalidValue(
            f"option admin.url is '{url}': set it to where the admin API is, "
            "for example http://localhost:8080"
        )
    return url


def service_url(given: Mapping[str, str]) -> str:
    url = given.get("service.url", "")
    if not url.startswith(("pulsar://", "pulsar+ssl://")):
        raise InvalidValue(
            f"option service.url is '{url}': set it to where the broker is, "
            "for example pulsar://localhost:6650"
        )
    return url


def topic_name(text: str, option: str) -> str:
    try:
        name = TopicName.parse(text)
    except InvalidName as error:
        raise InvalidValue(f"option {option}: {error}") from error
    if not name.persistent:
        raise InvalidValue(
            f"option {option}: {name} keeps no messages: Spark reads and writes persistent topics "
            "only"
        )
    return str(name)


def count(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name)
    if text is not None and (not text.isdecimal() or int(text) < 1):
        raise InvalidValue(f"option {name} is '{text}': it has to be a whole number above 0")
    return None if text is None else int(text)


def timeout_s(given: Mapping[str, str]) -> float:
    text = given.get("timeoutSeconds", str(TIMEOUT_S))
    with suppress(ValueError):
        if 0 < float(text) < float("inf"):
            return float(text)
    raise InvalidValue(
        f"option timeoutSeconds is '{text}': it has to be a number of seconds above 0"
    )


def truth(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = given.get(name, str(default)).lower()
    if text not in ("true", "false"):
        raise InvalidValue(f"option {name} is '{text}': it has to be true or false")
    return text == "true"
