"""What a function is: Pulsar's FunctionConfig, read from YAML or JSON and written back. Pure.

The keys, their defaults and the order in which they are shown are those of Apache Pulsar 4.0.7.
What it takes that we do not do is refused by name (``config_checks.py``).
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from enum import StrEnum
from types import UnionType
from typing import Annotated, Any, Self, get_args, get_origin

from magnetar.errors import InvalidValue
from magnetar.model.policy_values import fields_of, from_json, to_json

PUBLIC = "public"
DEFAULT = "default"
ASYNC_REQUESTS = 1000


class ProcessingGuarantees(StrEnum):
    """How often the result of a message is there."""

    ATLEAST_ONCE = "ATLEAST_ONCE"
    ATMOST_ONCE = "ATMOST_ONCE"
    EFFECTIVELY_ONCE = "EFFECTIVELY_ONCE"
    MANUAL = "MANUAL"


class SubscriptionPosition(StrEnum):
    """Where a function begins to read a topic that it has not read before."""

    LATEST = "Latest"
    EARLIEST = "Earliest"


class Compression(StrEnum):
    """How the messages that a function sends are compressed."""

    NONE = "NONE"
    LZ4 = "LZ4"
    ZLIB = "ZLIB"
    ZSTD = "ZSTD"
    SNAPPY = "SNAPPY"


class BatchBuilder(StrEnum):
    """Which messages that a function sends share a batch: any, or those of one key."""

    DEFAULT = "DEFAULT"
    KEY_BASED = "KEY_BASED"


class LogLevel(StrEnum):
    """The least important lines that go to the log topic."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """How one input is read: a topic, or all those that a pattern names."""

    schema_type: Annotated[str | None, "schemaType"] = None
    serde_class_name: Annotated[str | None, "serdeClassName"] = None
    is_regex_pattern: Annotated[bool, "isRegexPattern"] = False
    schema_properties: Annotated[Mapping[str, str], "schemaProperties"] = field(
        default_factory=dict
    )
    consumer_properties: Annotated[Mapping[str, str], "consumerProperties"] = field(
        default_factory=dict
    )
    receiver_queue_size: Annotated[int | None, "receiverQueueSize"] = None
    crypto_config: Annotated[Mapping[str, Any] | None, "cryptoConfig"] = None
    pool_messages: Annotated[bool, "poolMessages"] = False


@dataclass(frozen=True, slots=True)
class ProducerConfig:
    """How the output is written."""

    max_pending_messages: Annotated[int | None, "maxPendingMessages"] = None
    max_pending_messages_across_partitions: Annotated[
        int | None, "maxPendingMessagesAcrossPartitions"
    ] = None
    use_thread_local_producers: Annotated[bool, "useThreadLocalProducers"] = False
    crypto_config: Annotated[Mapping[str, Any] | None, "cryptoConfig"] = None
    batch_builder: Annotated[BatchBuilder | None, "batchBuilder"] = None
    compression_type: Annotated[Compression, "compressionType"] = Compression.LZ4


@dataclass(frozen=True, slots=True)
class WindowConfig:
    """The window of a function that takes many messages at once: by count, or by time."""

    window_length_count: Annotated[int | None, "windowLengthCount"] = None
    window_length_duration_ms: Annotated[int | None, "windowLengthDurationMs"] = None
    sliding_interval_count: Annotated[int | None, "slidingIntervalCount"] = None
    sliding_interval_duration_ms: Annotated[int | None, "slidingIntervalDurationMs"] = None
    late_data_topic: Annotated[str | None, "lateDataTopic"] = None
    max_lag_ms: Annotated[int | None, "maxLagMs"] = None
    watermark_emit_interval_ms: Annotated[int | None, "watermarkEmitIntervalMs"] = None
    timestamp_extractor_class_name: Annotated[str | None, "timestampExtractorClassName"] = None
    actual_window_function_class_name: Annotated[str | None, "actualWindowFunctionClassName"] = None
    processing_guarantees: Annotated[ProcessingGuarantees | None, "processingGuarantees"] = None

    def completed(self, class_name: str, guarantees: ProcessingGuarantees) -> Self:
        """With the defaults that depend on other values."""
        event_time = self.timestamp_extractor_class_name is not None
        lag, interval = self.max_lag_ms, self.watermark_emit_interval_ms
        return replace(
            self,
            sliding_interval_count=self.sliding_interval_count or self.window_length_count,
            sliding_interval_duration_ms=(
                self.sliding_interval_duration_ms or self.window_length_duration_ms
            ),
            max_lag_ms=0 if event_time and lag is None else lag,
            watermark_emit_interval_ms=1000 if event_time and interval is None else interval,
            actual_window_function_class_name=class_name,
            processing_guarantees=guarantees,
        )


@dataclass(frozen=True, slots=True)
class Resources:
    """What an instance is given, where each has a machine or container of its own."""

    cpu: Annotated[float, "cpu"] = 1.0
    ram: Annotated[int, "ram"] = 1 << 30
    disk: Annotated[int, "disk"] = 10 << 30


@dataclass(frozen=True, slots=True)
class FunctionConfig:
    """A function. Made by ``parse``, which fills in what is left out."""

    runtime_flags: Annotated[str | None, "runtimeFlags"] = None
    tenant: Annotated[str, "tenant"] = PUBLIC
    namespace: Annotated[str, "namespace"] = DEFAULT
    name: Annotated[str, "name"] = ""
    class_name: Annotated[str, "className"] = ""
    custom_schema_outputs: Annotated[Mapping[str, str] | None, "customSchemaOutputs"] = None
    # Every input, by topic or pattern: those of inputs, topicsPattern, customSerdeInputs and
    # customSchemaInputs, too.
    input_specs: Annotated[Mapping[str, ConsumerConfig], "inputSpecs"] = field(default_factory=dict)
    input_type_class_name: Annotated[str | None, "inputTypeClassName"] = None
    output: Annotated[str | None, "output"] = None
    producer_config: Annotated[ProducerConfig, "producerConfig"] = field(
        default_factory=ProducerConfig
    )
    output_schema_type: Annotated[str | None, "outputSchemaType"] = None
    output_type_class_name: Annotated[str | None, "outputTypeClassName"] = None
    output_serde_class_name: Annotated[str | None, "outputSerdeClassName"] = None
    log_topic: Annotated[str | None, "logTopic"] = None
    log_level: Annotated[LogLevel | None, "logLevel"] = None
    processing_guarantees: Annotated[ProcessingGuarantees, "processingGuarantees"] = (
        ProcessingGuarantees.ATLEAST_ONCE
    )
    retain_ordering: Annotated[bool, "retainOrdering"] = False
    retain_key_ordering: Annotated[bool, "retainKeyOrdering"] = False
    forward_source_message_property: Annotated[bool, "forwardSourceMessageProperty"] = True
    user_config: Annotated[Mapping[str, Any], "userConfig"] = field(default_factory=dict)
    secrets: Annotated[Mapping[str, Any] | None, "secrets"] = None
    runtime: Annotated[str, "runtime"] = "PYTHON"
    auto_ack: Annotated[bool, "autoAck"] = True
    max_message_retries: Annotated[int | None, "maxMessageRetries"] = None
    dead_letter_topic: Annotated[str | None, "deadLetterTopic"] = None
    sub_name: Annotated[str | None, "subName"] = None
    parallelism: Annotated[int, "parallelism"] = 1
    resources: Annotated[Resources, "resources"] = field(default_factory=Resources)
    window_config: Annotated[WindowConfig | None, "windowConfig"] = None
    timeout_ms: Annotated[int | None, "timeoutMs"] = None
    jar: Annotated[str | None, "jar"] = None
    py: Annotated[str | None, "py"] = None  # The file or wheel with the code; not shown.
    go: Annotated[str | None, "go"] = None
    function_type: Annotated[str | None, "functionType"] = None
    cleanup_subscription: Annotated[bool, "cleanupSubscription"] = True
    custom_runtime_options: Annotated[str | None, "customRuntimeOptions"] = None
    max_pending_async_requests: Annotated[int, "maxPendingAsyncRequests"] = ASYNC_REQUESTS
    expose_pulsar_admin_client_enabled: Annotated[bool, "exposePulsarAdminClientEnabled"] = False
    skip_to_latest: Annotated[bool, "skipToLatest"] = False
    subscription_position: Annotated[SubscriptionPosition, "subscriptionPosition"] = (
        SubscriptionPosition.LATEST
    )

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Self:
        """From the keys of YAML or JSON. Raises InvalidValue, naming the key and the remedy.

        Types and names of keys are checked; whether the values make sense says ``check``.
        """
        whole = _in_one_form(given)
        _check_words(cls, whole, "")
        config: Self = from_json(cls, whole, "the function's configuration")
        name = config.name or config.class_name.rpartition(".")[2]
        window = config.window_config
        if window is None:
            return replace(config, name=name)
        completed = window.completed(config.class_name, config.processing_guarantees)
        return replace(config, name=name, window_config=completed, auto_ack=False)

    def to_json(self) -> dict[str, Any]:
        """All of it, from which ``parse`` makes the same again."""
        whole: dict[str, Any] = to_json(self)
        return whole

    def shown(self) -> dict[str, Any]:
        """As Pulsar shows a function: with the defaults, without what is not set."""
        shown = self.to_json()
        for key in ("py", "maxPendingAsyncRequests", "skipToLatest"):
            shown.pop(key, None)
        if not self.expose_pulsar_admin_client_enabled:
            del shown["exposePulsarAdminClientEnabled"]
        shown["producerConfig"].setdefault("batchBuilder", "")
        for spec in shown["inputSpecs"].values():
            spec["regexPattern"] = spec.pop("isRegexPattern")
        return shown

    @property
    def fqfn(self) -> str:
        """``tenant/namespace/name``, which no other function has."""
        return f"{self.tenant}/{self.namespace}/{self.name}"

    @property
    def subscription(self) -> str:
        """The subscription that holds its position on the inputs."""
        return self.sub_name or self.fqfn

    @property
    def state_topic(self) -> str:
        """The topic of its state, which is deleted with it."""
        return f"persistent://{self.tenant}/{self.namespace}/{self.name}-state"

    @property
    def input_topics(self) -> tuple[str, ...]:
        """The inputs that are topics, as they were given."""
        return tuple(topic for topic, spec in self.input_specs.items() if not spec.is_regex_pattern)

    @property
    def topics_patterns(self) -> tuple[str, ...]:
        """The inputs that are regular expressions over topics."""
        return tuple(topic for topic, spec in self.input_specs.items() if spec.is_regex_pattern)


_INPUT_KEYS = ("inputs", "topicsPattern", "customSerdeInputs", "customSchemaInputs")


def _in_one_form(given: Mapping[str, Any]) -> dict[str, Any]:
    """What may be said in several ways, said in one: inputs, names, the batch builder."""
    whole = {key: value for key, value in given.items() if value is not None and value != ""}
    fqfn = whole.pop("fqfn", None)
    if fqfn is not None:
        parts = str(fqfn).split("/")
        if len(parts) != 3:
            raise InvalidValue(f"fqfn is {fqfn!r}: it has to be tenant/namespace/name")
        whole.update(zip(("tenant", "namespace", "name"), parts, strict=True))
    inputs = _input_specs({key: whole.pop(key) for key in _INPUT_KEYS if key in whole})
    specs = whole.get("inputSpecs", {})
    if isinstance(specs, dict):
        inputs.update({topic: _consumer_keys(spec) for topic, spec in specs.items()})
        whole["inputSpecs"] = inputs
    if "batchBuilder" in whole and isinstance(whole.get("producerConfig", {}), dict):
        producer = {**whole.get("producerConfig", {}), "batchBuilder": whole.pop("batchBuilder")}
        whole["producerConfig"] = producer
    return whole


def _consumer_keys(spec: Any) -> Any:
    """Pulsar itself shows ``isRegexPattern`` as ``regexPattern``, and takes both."""
    if not isinstance(spec, dict) or "regexPattern" not in spec:
        return spec or {}
    rest = {key: value for key, value in spec.items() if key != "regexPattern"}
    return {"isRegexPattern": spec["regexPattern"], **rest}


def _input_specs(given: Mapping[str, Any]) -> dict[str, Any]:
    specs: dict[str, Any] = {}
    topics = given.get("inputs", ())
    if isinstance(topics, str) or not all(isinstance(topic, str) for topic in topics):
        raise InvalidValue(f"inputs is {topics!r}: it has to be a list of topics")
    specs.update((topic, {}) for topic in topics)
    if "topicsPattern" in given:
        specs[str(given["topicsPattern"])] = {"isRegexPattern": True}
    for key, of in (("customSerdeInputs", "serdeClassName"), ("customSchemaInputs", "schemaType")):
        named = given.get(key, {})
        if not isinstance(named, dict):
            raise InvalidValue(f"{key} is {named!r}: it has to be a map of topics to names")
        specs.update((topic, {of: value}) for topic, value in named.items())
    return specs


def _check_words(kind: Any, given: Any, where: str) -> None:
    """Refuse keys that there are not, and words that are none of those that a key takes."""
    if get_origin(kind) is UnionType:
        return None if given is None else _check_words(get_args(kind)[0], given, where)
    if get_origin(kind) is Mapping and isinstance(given, dict):
        for key, value in given.items():
            _check_words(get_args(kind)[1], value, f"{where}.{key}")
    elif isinstance(kind, type) and is_dataclass(kind) and isinstance(given, dict):
        kinds = {one.key: one.kind for one in fields_of(kind)}
        for key, value in given.items():
            path = f"{where}.{key}" if where else key
            if key not in kinds:
                near = difflib.get_close_matches(str(key), kinds, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(kinds)}"
                raise InvalidValue(f"unknown key {path}: {hint}")
            _check_words(kinds[key], value, path)
    elif isinstance(kind, type) and issubclass(kind, StrEnum) and given not in [*kind, None, ""]:
        raise InvalidValue(f"{where} is {given!r}: it has to be one of {', '.join(kind)}")
    return None
