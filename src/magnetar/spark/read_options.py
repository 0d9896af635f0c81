"""The options of reading: Spark's strings, checked, with their defaults. Pure."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql.types import StructField, StructType

from magnetar.errors import InvalidName, InvalidValue
from magnetar.model.names import TopicName
from magnetar.spark.client_settings import ClientSettings, Connection
from magnetar.spark.offsets import Offset
from magnetar.spark.option_values import (
    admin_url,
    count,
    known,
    service_url,
    timeout_s,
    topic_name,
    truth,
)
from magnetar.spark.schema import (
    HEADERS,
    KAFKA_NAMES,
    KAFKA_SCHEMA,
    OWN_NAMES,
    PULSAR_SPARK_SCHEMA,
    READ_SCHEMA,
)
from magnetar.spark.values.options import VALUE_OPTIONS, ValueOptions

EARLIEST = "earliest"
LATEST = "latest"
AT_TIME = "@"
"""What begins a place by publish time, before its milliseconds since the epoch."""
ROWS_PER_BATCH = 10_000
"""Rows of an Arrow batch. With 2,000 Spark takes a third longer for each row."""
NO_SUBSCRIPTION = "none"
NO_HISTORY = "none"
AUTO = "auto"
SUBSCRIPTION_PREFIX = "spark-pulsar"
"""The names of subscriptions that queries make for themselves begin so: as StreamNative's do."""

PULSAR_SPARK = "pulsar-spark"
"""The columns of StreamNative's connector."""
KAFKA = "kafka"
"""The columns of Spark's source for Kafka."""

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
    "maxBytesPerTrigger",
    "triggerOrder",
    "columns",
    "includeHeaders",
    *VALUE_OPTIONS,
    "history",
    "admin.url",
    "rowsPerBatch",
    "failOnDataLoss",
    "encryption.privateKey",
    "timeoutSeconds",
    "retryForever",
)
_SUBSCRIPTION_OPTIONS = ("subscription", "predefinedSubscription", "subscriptionPrefix")
_STARTS = ("startingOffsets", "startingTime", "startingTimestamp")
_ENDS = ("endingOffsets", "endingTime", "endingTimestamp")
_BATCH_OPTIONS = _ENDS
_LIMITS = ("maxMessagesPerTrigger", "maxBytesPerTrigger")
_STREAM_OPTIONS = (*_SUBSCRIPTION_OPTIONS, *_LIMITS, "triggerOrder")
_BY_BACKLOG = "backlog"
_BY_EVENT_TIME = "eventTime"

_HEADERS_COLUMN = (StructField("headers", HEADERS),)

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
    bytes_per_trigger_max: int | None
    oldest_event_first: bool  # What a limit takes; else of each partition by its backlog.
    partitions_min: int | None
    columns: str | None  # Another connector's.
    headers: bool  # A column with properties, among those of Kafka's.
    values: ValueOptions
    history: bool  # What was offloaded is read from its files; the admin API says where they are.
    admin_url: str | None
    rows_per_batch: int
    fail_on_data_loss: bool
    private_key: str | None  # The path of a file, with the name of the key for ``{name}`` in it.

    @property
    def offered(self) -> StructType:
        """The columns that a message has, where its value is binary."""
        if self.columns == KAFKA:
            return StructType([*KAFKA_SCHEMA, *_HEADERS_COLUMN[: self.headers]])
        return READ_SCHEMA if self.columns is None else PULSAR_SPARK_SCHEMA

    @property
    def own_names(self) -> Mapping[str, str]:
        """What columns are called where they are made, when that is not the same."""
        return KAFKA_NAMES if self.columns == KAFKA else OWN_NAMES

    @staticmethod
    def parse(options: Mapping[str, str], *, streaming: bool | None) -> "ReadOptions":
        """Read Spark's options, whose names compare without case. Raises InvalidValue.

        ``streaming`` is None where Spark has not said yet which it is.
        """
        given = known(options, READ_OPTIONS)
        if streaming is not None:
            _check_meant(given, streaming)
        topics, pattern = _topics(given)
        return ReadOptions(
            service_url=service_url(given),
            topics=topics,
            topics_pattern=pattern,
            starting_offsets=_place(given, _STARTS, LATEST if streaming else EARLIEST),
            ending_offsets=_place(given, _ENDS, LATEST),
            subscription=_subscription(given),
            subscription_prefix=given.get("subscriptionPrefix", SUBSCRIPTION_PREFIX),
            messages_per_trigger_max=count(given, "maxMessagesPerTrigger"),
            bytes_per_trigger_max=count(given, "maxBytesPerTrigger"),
            oldest_event_first=_oldest_event_first(given),
            partitions_min=count(given, "minPartitions"),
            columns=columns_of(options),
            headers=_headers(given),
            values=value_options(options),
            history=_history(given),
            admin_url=admin_url(given),
            rows_per_batch=count(given, "rowsPerBatch") or ROWS_PER_BATCH,
            fail_on_data_loss=truth(given, "failOnDataLoss", default=True),
            private_key=given.get("encryption.privateKey"),
            timeout_s=timeout_s(given),
            retry_forever=truth(given, "retryForever", default=False),
            client=ClientSettings.parse(options),
        )


def columns_of(options: Mapping[str, str]) -> str | None:
    """The connector whose columns are meant, None for Magnetar's. Raises InvalidValue."""
    for name, value in options.items():
        if name.lower() == "columns":
            if value.strip() not in (PULSAR_SPARK, KAFKA):
                raise InvalidValue(
                    f"option columns is '{value}': it has to be {PULSAR_SPARK}, for the columns "
                    f"of StreamNative's connector, or {KAFKA}, for those of Spark's source for "
                    "Kafka; leave it out for ours"
                )
            return value.strip()
    return None


def _headers(given: Mapping[str, str]) -> bool:
    if "includeHeaders" in given and given.get("columns") != KAFKA:
        raise InvalidValue(
            f"option includeHeaders is for columns={KAFKA}: set it, or read the column properties"
        )
    return truth(given, "includeHeaders", default=False)


def value_options(options: Mapping[str, str]) -> ValueOptions:
    """What values become. With StreamNative's columns the registry says it, as there."""
    return ValueOptions.parse(options, registry_by_default=columns_of(options) == PULSAR_SPARK)


def _history(given: Mapping[str, str]) -> bool:
    """Whether files of ledgers are read. Raises InvalidValue."""
    said = given.get("history", NO_HISTORY)
    if said not in (NO_HISTORY, AUTO):
        raise InvalidValue(f"option history is '{said}': it is {AUTO}, or {NO_HISTORY}")
    if said == AUTO and "admin.url" not in given:
        raise InvalidValue("option history=auto: the admin API says where files are, set admin.url")
    return said == AUTO


def _oldest_event_first(given: Mapping[str, str]) -> bool:
    said = given.get("triggerOrder", _BY_BACKLOG)
    if said not in (_BY_BACKLOG, _BY_EVENT_TIME):
        raise InvalidValue(
            f"option triggerOrder is '{said}': it has to be {_BY_BACKLOG}, by which each partition "
            f"has a share of the limit, or {_BY_EVENT_TIME}, for the oldest events first"
        )
    if "triggerOrder" in given and not any(name in given for name in _LIMITS):
        raise InvalidValue(f"option triggerOrder is for a limit: set {' or '.join(_LIMITS)}")
    return said == _BY_EVENT_TIME


def _check_meant(given: Mapping[str, str], streaming: bool) -> None:  # noqa: FBT001 - one of two
    meant = "batch reads" if streaming else "readStream"
    for name in _BATCH_OPTIONS if streaming else _STREAM_OPTIONS:
        if name in given:
            raise InvalidValue(f"option {name} is for {meant} only: remove it")


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
    return tuple(dict.fromkeys(topic_name(part.strip(), names[0]) for part in parts)), None


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
    return {topic_name(topic, name): read(name, str(place)) for topic, place in value.items()}


def _everywhere(name: str, text: str) -> str:
    if text.lower() not in (EARLIEST, LATEST):
        raise InvalidValue(
            f"option {name} is '{text}': write earliest, latest, or JSON such as "
            '{"my-topic-partition-0": "7:4:0"}'
        )
    return text.lower()


def _offset(name: str, text: str) -> str:
    if text not in (EARLIEST, LATEST):
        try:
            Offset.parse(text)
        except InvalidValue as error:
            raise InvalidValue(f"option {name}: {error}") from error
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
