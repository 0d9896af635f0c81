"""The options of ``format("pulsar")``: Spark's strings, checked, with their defaults. Pure."""

import difflib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from magnetar.errors import InvalidName, InvalidValue
from magnetar.model.names import TopicName
from magnetar.spark.client_settings import PREFIX, ClientSettings, Connection
from magnetar.spark.offsets import Offset

EARLIEST = "earliest"
LATEST = "latest"
AT_TIME = "@"
"""What begins a place by publish time, before its milliseconds since the epoch."""
ROWS_PER_BATCH = 2_000
"""Rows of an Arrow batch, and messages under way to a task. 1,000 to 10,000 are equally fast."""
TIMEOUT_S = 30.0
NO_SUBSCRIPTION = "none"
SUBSCRIPTION_PREFIX = "spark-pulsar"
"""The names of subscriptions that queries make for themselves begin so: as StreamNative's do."""

PULSAR_SPARK = "pulsar-spark"
"""The columns of StreamNative's connector."""

READ_OPTIONS = (
    "service.url",
    "topic",
    "topics",
    "topicsPattern",
    "startingOffsets",
    "startingTime",
    "startingTimestamp",
    "endingOffsets",
    "endingTime",
    "endingTimestamp",
    "minPartitions",
    "subscription",
    "predefinedSubscription",
    "subscriptionPrefix",
    "maxMessagesPerTrigger",
    "columns",
    "rowsPerBatch",
    "failOnDataLoss",
    "timeoutSeconds",
    "retryForever",
)
WRITE_OPTIONS = (
    "service.url",
    "admin.url",
    "topic",
    "guarantee",
    "schema",
    "txnAppId",
    "txnVersion",
    "timeoutSeconds",
)
_SUBSCRIPTION_OPTIONS = ("subscription", "predefinedSubscription", "subscriptionPrefix")
_STARTS = ("startingOffsets", "startingTime", "startingTimestamp")
_ENDS = ("endingOffsets", "endingTime", "endingTimestamp")
_BATCH_OPTIONS = (*_ENDS, "minPartitions")
_STREAM_OPTIONS = (*_SUBSCRIPTION_OPTIONS, "maxMessagesPerTrigger")

_SPARKS_OWN = frozenset(
    {"path", "checkpointlocation", "queryname"}
    | {"asyncprogresstrackingenabled", "asyncprogresstrackingcheckpointintervalms"}
    | {"_asyncprogresstrackingoverridesinksupportcheck"}
)
"""Options that Spark itself reads from the same map, in lower case."""
_ELSEWHERE = {
    "admin.url": "leave it out: reading looks topics up at service.url",
    "assign": "give a partition's name in the option topics",
    "endingoffsetsbytimestamp": "endingTime, which takes JSON by topic, too",
    "kafka.bootstrap.servers": "service.url",
    "maxoffsetspertrigger": "maxMessagesPerTrigger",
    "startingoffsetsbytimestamp": "startingTime, which takes JSON by topic, too",
    "subscribe": "topic, or topics with commas between",
    "subscribepattern": "topicsPattern",
}
"""What other connectors call theirs, or have and this one has not, in lower case."""

AT_LEAST_ONCE = "at-least-once"
EXACTLY_ONCE = "exactly-once"
VERSIONS_MAX = 1 << 31
"""Of writes, and micro-batches: sequence ids are 63 bits, of which rows take 32."""

NamedOffsets = str | Mapping[str, str]
"""A place, or a place by topic or partition: ``earliest``, ``latest``, ``@`` time, or an offset.

An offset is only ever given for one topic or partition.
"""


@dataclass(frozen=True, slots=True)
class ReadOptions(Connection):
    """What to read, from where to where, and how."""

    topics: tuple[str, ...]
    topics_pattern: str | None
    starting_offsets: NamedOffsets
    ending_offsets: NamedOffsets
    subscription: str | None  # ``none``: no position is held. None: the query makes its own.
    subscription_prefix: str
    messages_per_trigger_max: int | None
    partitions_min: int
    pulsar_spark_columns: bool
    rows_per_batch: int
    fail_on_data_loss: bool

    @staticmethod
    def parse(options: Mapping[str, str], *, streaming: bool) -> "ReadOptions":
        """Read Spark's options, whose names compare without case. Raises InvalidValue."""
        given = _known(options, READ_OPTIONS)
        meant = "batch reads" if streaming else "readStream"
        for name in _BATCH_OPTIONS if streaming else _STREAM_OPTIONS:
            if name in given:
                raise InvalidValue(f"option {name} is for {meant} only: remove it")
        topics, pattern = _topics(given)
        return ReadOptions(
            service_url=_service_url(given),
            topics=topics,
            topics_pattern=pattern,
            starting_offsets=_place(given, _STARTS, LATEST if streaming else EARLIEST),
            ending_offsets=_place(given, _ENDS, LATEST),
            subscription=_subscription(given),
            subscription_prefix=given.get("subscriptionPrefix", SUBSCRIPTION_PREFIX),
            messages_per_trigger_max=_count(given, "maxMessagesPerTrigger"),
            partitions_min=_count(given, "minPartitions") or 1,
            pulsar_spark_columns=pulsar_spark_columns(options),
            rows_per_batch=_count(given, "rowsPerBatch") or ROWS_PER_BATCH,
            fail_on_data_loss=_truth(given, "failOnDataLoss", default=True),
            timeout_s=_timeout_s(given),
            retry_forever=_truth(given, "retryForever", default=False),
            client=ClientSettings.parse(options),
        )


@dataclass(frozen=True, slots=True)
class WriteOptions(Connection):
    """Where to write, and how surely; ``topic`` may be left to a column of the rows."""

    admin_url: str | None
    topic: str | None
    text: bool  # The topic's schema is STRING.
    exactly_once: bool
    write: "Write | None"  # None: a batch write is one that nobody repeats.

    @staticmethod
    def parse(options: Mapping[str, str], *, streaming: bool) -> "WriteOptions":
        """Read Spark's options, whose names compare without case. Raises InvalidValue."""
        given = _known(options, WRITE_OPTIONS)
        topic = given.get("topic")
        exactly_once = _guarantee(given) == EXACTLY_ONCE
        if exactly_once and "admin.url" not in given:
            raise InvalidValue(
                f"option guarantee is {EXACTLY_ONCE}: set admin.url, for example "
                "http://localhost:8080, where the sink asks whether the broker deduplicates"
            )
        return WriteOptions(
            service_url=_service_url(given),
            admin_url=_admin_url(given),
            topic=None if topic is None else _topic(topic),
            text=_text(given),
            exactly_once=exactly_once,
            write=_write(given, streaming=streaming, exactly_once=exactly_once),
            timeout_s=_timeout_s(given),
            retry_forever=False,
            client=ClientSettings.parse(options),
        )


@dataclass(frozen=True, slots=True)
class Write:
    """What is written once, however often it is tried: ``version`` rises within ``app_id``.

    Of a stream they are its query's id and the micro-batch's; of a batch write they are the
    options that Delta Lake calls so.
    """

    app_id: str
    version: int


def pulsar_spark_columns(options: Mapping[str, str]) -> bool:
    """Whether StreamNative's columns are meant. Raises InvalidValue."""
    for name, value in options.items():
        if name.lower() == "columns":
            if value.strip() != PULSAR_SPARK:
                raise InvalidValue(
                    f"option columns is '{value}': it has to be {PULSAR_SPARK}, for the columns "
                    "of StreamNative's connector; leave it out for ours"
                )
            return True
    return False


def _known(options: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """Our options under their own spelling, without Spark's own. Raises InvalidValue for others."""
    spelling = {name.lower(): name for name in names}
    found: dict[str, str] = {}
    for name, value in options.items():
        lower = name.lower()
        if lower in spelling:
            found[spelling[lower]] = value.strip()
        elif lower not in _SPARKS_OWN and not lower.startswith(PREFIX):
            raise InvalidValue(f"unknown option '{name}': {_remedy(lower, spelling)}")
    return found


def _remedy(name: str, spelling: Mapping[str, str]) -> str:
    close = difflib.get_close_matches(name, spelling, n=1, cutoff=0.8)
    if close:
        return f"did you mean '{spelling[close[0]]}'?"
    if name in _ELSEWHERE:
        return f"other connectors have it; here: {_ELSEWHERE[name]}"
    return f"there are {', '.join(spelling.values())}"


def _service_url(given: Mapping[str, str]) -> str:
    url = given.get("service.url", "")
    if not url.startswith(("pulsar://", "pulsar+ssl://")):
        raise InvalidValue(
            f"option service.url is '{url}': set it to where the broker is, "
            "for example pulsar://localhost:6650"
        )
    return url


def _admin_url(given: Mapping[str, str]) -> str | None:
    url = given.get("admin.url")
    if url is not None and not url.startswith(("http://", "https://")):
        raise InvalidValue(
            f"option admin.url is '{url}': set it to where the admin API is, "
            "for example http://localhost:8080"
        )
    return url


def _guarantee(given: Mapping[str, str]) -> str:
    value = given.get("guarantee", AT_LEAST_ONCE)
    if value not in (AT_LEAST_ONCE, EXACTLY_ONCE):
        raise InvalidValue(
            f"option guarantee is '{value}': it has to be {AT_LEAST_ONCE} or {EXACTLY_ONCE}"
        )
    return value


def _text(given: Mapping[str, str]) -> bool:
    value = given.get("schema", "none")
    if value not in ("none", "string"):
        raise InvalidValue(f"option schema is '{value}': it has to be none or string")
    return value == "string"


def _write(given: Mapping[str, str], *, streaming: bool, exactly_once: bool) -> Write | None:
    """The write that the options name. Raises InvalidValue where it has a name already, or half."""
    names = [name for name in ("txnAppId", "txnVersion") if name in given]
    if not names:
        return None
    if streaming:
        raise InvalidValue(
            f"option {names[0]} is for batch writes only: a stream has its query's id; remove it"
        )
    if not exactly_once:
        raise InvalidValue(f"option {names[0]} needs guarantee={EXACTLY_ONCE}: set it")
    version = given.get("txnVersion", "")
    if len(names) < 2 or not given["txnAppId"] or not version.isdecimal():
        raise InvalidValue(
            "options txnAppId and txnVersion belong together: a name, and a whole number that "
            "is higher with each write under this name"
        )
    if int(version) >= VERSIONS_MAX:
        raise InvalidValue(f"option txnVersion is {version}: it has to be below {VERSIONS_MAX}")
    return Write(given["txnAppId"], int(version))


def _topics(given: Mapping[str, str]) -> tuple[tuple[str, ...], str | None]:
    names = [name for name in ("topic", "topics", "topicsPattern") if name in given]
    if len(names) != 1:
        found = " and ".join(names) if names else "none of them"
        raise InvalidValue(
            "give exactly one of the options topic, topics (with commas between) and "
            f"topicsPattern (namespace and regular expression); found {found}"
        )
    value = given[names[0]]
    if names[0] == "topicsPattern":
        return (), _pattern(value)
    parts = value.split(",") if names[0] == "topics" else [value]
    return tuple(dict.fromkeys(_topic(part.strip()) for part in parts)), None


def _topic(text: str) -> str:
    try:
        name = TopicName.parse(text)
    except InvalidName as error:
        raise InvalidValue(f"option topic: {error}") from error
    if not name.persistent:
        raise InvalidValue(
            f"{name} keeps no messages: Spark reads and writes persistent topics only"
        )
    return str(name)


def _pattern(text: str) -> str:
    """The expression for full topic names; what comes before the last ``/`` is a namespace."""
    try:
        pattern = str(TopicName.parse(text))
        re.compile(pattern)
    except (InvalidName, re.error) as error:
        raise InvalidValue(
            f"option topicsPattern: '{text}' is not <tenant>/<namespace>/<expression>: {error}"
        ) from error
    return pattern


def _subscription(given: Mapping[str, str]) -> str | None:
    found = [name for name in _SUBSCRIPTION_OPTIONS if name in given]
    if len(found) > 1:
        raise InvalidValue(
            f"give one of the options {' and '.join(found)}: subscription (or "
            "predefinedSubscription) is a whole name, subscriptionPrefix the beginning of one "
            "that the query makes"
        )
    if found and not given[found[0]]:
        raise InvalidValue(f"option {found[0]} is empty: give a name, or leave it out")
    return given.get("subscription", given.get("predefinedSubscription"))


def _place(given: Mapping[str, str], names: tuple[str, ...], default: str) -> NamedOffsets:
    """Where to begin, or to end: by offsets, or by time under one of two names."""
    found = [name for name in names if name in given]
    if len(found) > 1:
        raise InvalidValue(f"give one of the options {' and '.join(found)}")
    name = found[0] if found else names[0]
    return _named(name, given.get(name, default), _offset if name == names[0] else _time)


def _named(name: str, text: str, read: Callable[[str, str], str]) -> NamedOffsets:
    """One place for all, or JSON: places by topic."""
    if not text.startswith(("{", "[")):
        return read(name, text) if read is _time else _everywhere(name, text)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidValue(f"option {name} is '{text}', which is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidValue(f"option {name}: the JSON has to be an object, by topic")
    return {_topic(topic): read(name, str(place)) for topic, place in value.items()}


def _everywhere(name: str, text: str) -> str:
    if text.lower() not in (EARLIEST, LATEST):
        raise InvalidValue(
            f"option {name} is '{text}': write earliest, latest, or JSON such as "
            '{"my-topic-partition-0": "7:4:0"}'
        )
    return text.lower()


def _offset(_name: str, text: str) -> str:
    if text not in (EARLIEST, LATEST):
        Offset.parse(text)
    return text


def _time(name: str, text: str) -> str:
    """Milliseconds since the epoch, or ISO 8601, which is UTC where it does not say."""
    if text.isdecimal():
        return f"{AT_TIME}{int(text)}"
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidValue(
            f"option {name}: '{text}' is no time: write it as 2026-05-17T09:30:00Z, or in "
            "milliseconds since 1970"
        ) from error
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return f"{AT_TIME}{max(0, int(time.timestamp() * 1000))}"


def _count(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name)
    if text is not None and (not text.isdecimal() or int(text) < 1):
        raise InvalidValue(f"option {name} is '{text}': it has to be a whole number above 0")
    return None if text is None else int(text)


def _timeout_s(given: Mapping[str, str]) -> float:
    text = given.get("timeoutSeconds", str(TIMEOUT_S))
    with suppress(ValueError):
        if 0 < float(text) < float("inf"):
            return float(text)
    raise InvalidValue(
        f"option timeoutSeconds is '{text}': it has to be a number of seconds above 0"
    )


def _truth(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = given.get(name, str(default)).lower()
    if text not in ("true", "false"):
        raise InvalidValue(f"option {name} is '{text}': it has to be true or false")
    return text == "true"
