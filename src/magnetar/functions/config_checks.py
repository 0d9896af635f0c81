"""What a function's configuration has to be before it runs: Pulsar's rules, and ours. Pure."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from magnetar.errors import InvalidName, InvalidValue
from magnetar.functions.config import (
    ASYNC_REQUESTS,
    ConsumerConfig,
    FunctionConfig,
    ProcessingGuarantees,
    Resources,
    WindowConfig,
)
from magnetar.model.names import TopicName, check_entity

_NOT_DONE: Final[Mapping[str, str]] = {
    "jar": "functions are written in Python: give the file or wheel as py",
    "go": "functions are written in Python: give the file or wheel as py",
    "function_type": "there are no built-in functions: give the file or wheel as py",
    "runtime_flags": "functions share a Spark session, which has no flags for one of them: leave "
    "it out, or give flags to `magnetar functions worker`",
    "custom_runtime_options": "there is no runtime that reads it: use userConfig",
    "custom_schema_outputs": "give outputSchemaType",
    "expose_pulsar_admin_client_enabled": "a context has no admin client: use the admin API",
    "skip_to_latest": "a function goes on where it stopped: to begin at the end, delete and "
    "create it, with subscriptionPosition Latest",
}
"""By field: what to do instead."""


def check(config: FunctionConfig) -> None:
    """Raise InvalidValue, naming the key and the remedy, unless this can run."""
    for name, remedy in _NOT_DONE.items():
        if getattr(config, name):
            raise InvalidValue(f"{_key(name)} is set, but {remedy}")
    if config.runtime != "PYTHON":
        raise InvalidValue(f"runtime is {config.runtime}: it has to be PYTHON, or left out")
    _check_names(config)
    _check_topics(config)
    _check_numbers(config)
    _check_guarantees(config)
    for topic, spec in config.input_specs.items():
        _check_consumer(f"inputSpecs.{topic}", spec)
    if config.output_schema_type and config.output_serde_class_name:
        raise InvalidValue("outputSchemaType and outputSerdeClassName are both set: give one")
    if config.producer_config.crypto_config:
        raise InvalidValue("producerConfig.cryptoConfig is set, but functions do not encrypt yet")
    if config.window_config is not None:
        check_window(config.window_config, config.processing_guarantees)


def without_effect(config: FunctionConfig) -> list[str]:
    """The keys that were given, and that nothing here depends on: to be told to who gave them."""
    found = ["resources"] if config.resources != Resources() else []
    if config.max_pending_async_requests != ASYNC_REQUESTS:
        found.append("maxPendingAsyncRequests")
    if config.producer_config.use_thread_local_producers:
        found.append("producerConfig.useThreadLocalProducers")
    for topic, spec in config.input_specs.items():
        if spec.pool_messages:
            found.append(f"inputSpecs.{topic}.poolMessages")
    return found


def _key(name: str) -> str:
    """The key of a field."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _check_names(config: FunctionConfig) -> None:
    if not config.class_name:
        raise InvalidValue("className is missing: name the class, as module.Class, or the module")
    for key in ("tenant", "namespace", "name"):
        try:
            check_entity(getattr(config, key))
        except InvalidName as error:
            raise InvalidValue(f"{key}: {error}. Letters, digits and -=:._ are taken") from None


def _check_topics(config: FunctionConfig) -> None:
    if not config.input_specs:
        raise InvalidValue("No input topic(s) specified for the function: give inputs")
    named = {_topic(f"input {topic}", topic): "an input" for topic in config.input_topics}
    for pattern in config.topics_patterns:
        _topic(f"topicsPattern {pattern}", pattern)
        try:
            re.compile(pattern)
        except re.error as error:
            raise InvalidValue(
                f"topicsPattern {pattern} is no regular expression: {error}"
            ) from None
    window = config.window_config
    others = {
        "logTopic": config.log_topic,
        "deadLetterTopic": config.dead_letter_topic,
        "windowConfig.lateDataTopic": window and window.late_data_topic,
    }
    if config.output and _topic("output", config.output) in named:
        raise InvalidValue(
            f"Output topic {config.output} is also being used as an input topic: give another one, "
            "or the function would read what it writes"
        )
    for key, given in {**others, "output": config.output}.items():
        if given:
            named[_topic(key, str(given))] = key
    if config.state_topic in named:
        raise InvalidValue(
            f"{named[config.state_topic]} is {config.state_topic}, where the function's state is "
            "kept, which is deleted with it: give the topic or the function another name"
        )


def _topic(what: str, text: str) -> str:
    try:
        return str(TopicName.parse(text))
    except InvalidName as error:
        raise InvalidValue(f"{what} is no name of a topic: {error}") from None


def _check_numbers(config: FunctionConfig) -> None:
    if config.parallelism < 1:
        raise InvalidValue(f"parallelism is {config.parallelism}: it has to be 1 or more")
    if config.timeout_ms is not None and config.timeout_ms < 1:
        raise InvalidValue(f"timeoutMs is {config.timeout_ms}: it has to be 1 or more")
    if config.max_pending_async_requests < 1:
        asked = config.max_pending_async_requests
        raise InvalidValue(f"maxPendingAsyncRequests is {asked}: it has to be 1 or more")
    resources = config.resources
    for key in ("cpu", "ram", "disk"):
        if getattr(resources, key) <= 0:
            raise InvalidValue(
                f"resources.{key} is {getattr(resources, key)}: it has to be above 0"
            )


def _check_guarantees(config: FunctionConfig) -> None:
    guarantees = config.processing_guarantees
    retries = config.max_message_retries
    once = guarantees is ProcessingGuarantees.EFFECTIVELY_ONCE
    if config.timeout_ms is not None and guarantees is not ProcessingGuarantees.ATLEAST_ONCE:
        raise InvalidValue(f"timeoutMs is for processingGuarantees ATLEAST_ONCE, not {guarantees}")
    if retries is not None and retries >= 0 and once:
        raise InvalidValue(
            "maxMessageRetries does not go with processingGuarantees EFFECTIVELY_ONCE: leave one "
            "out"
        )
    if (retries is None or retries < 0) and config.dead_letter_topic:
        raise InvalidValue(
            "deadLetterTopic is set, but a message is tried without end: give maxMessageRetries"
        )
    if config.retain_key_ordering and once:
        raise InvalidValue(
            "retainKeyOrdering does not go with processingGuarantees EFFECTIVELY_ONCE, which keeps "
            "the order of all messages: leave it out"
        )
    if config.retain_key_ordering and config.retain_ordering:
        raise InvalidValue("retainOrdering and retainKeyOrdering are both set: give one")
    if not config.auto_ack and guarantees is ProcessingGuarantees.ATMOST_ONCE:
        raise InvalidValue(
            "autoAck false does not go with ATMOST_ONCE: use MANUAL, or leave it out"
        )


def _check_consumer(where: str, spec: ConsumerConfig) -> None:
    if spec.schema_type and spec.serde_class_name:
        raise InvalidValue(f"{where}: schemaType and serdeClassName are both set: give one")
    if spec.crypto_config:
        raise InvalidValue(f"{where}.cryptoConfig is set, but functions do not decrypt yet")
    for key in ("schema_properties", "consumer_properties"):
        if getattr(spec, key):
            raise InvalidValue(f"{where}.{_key(key)} is set, but nothing reads it: leave it out")
    if spec.receiver_queue_size is not None and spec.receiver_queue_size < 0:
        raise InvalidValue(f"{where}.receiverQueueSize has to be 0 or more")


_POSITIVE: Final = (
    "window_length_count",
    "window_length_duration_ms",
    "sliding_interval_count",
    "sliding_interval_duration_ms",
    "watermark_emit_interval_ms",
)


def check_window(window: WindowConfig, guarantees: ProcessingGuarantees) -> None:
    """Raise InvalidValue unless a window has one length, and positive numbers."""
    if guarantees in (ProcessingGuarantees.EFFECTIVELY_ONCE, ProcessingGuarantees.MANUAL):
        raise InvalidValue(
            f"windowConfig does not go with processingGuarantees {guarantees}: use ATLEAST_ONCE"
        )
    by_count = window.window_length_count is not None
    by_time = window.window_length_duration_ms is not None
    if not by_count and not by_time:
        raise InvalidValue(
            "windowConfig has no length: give windowLengthCount or windowLengthDurationMs"
        )
    if by_count and by_time:
        raise InvalidValue(
            "windowConfig has windowLengthCount and windowLengthDurationMs: give one of them"
        )
    for name in _POSITIVE:
        _require(window, name, lambda value: value > 0, "1 or more")
    _require(window, "max_lag_ms", lambda value: value >= 0, "0 or more")


def _require(window: WindowConfig, name: str, holds: Callable[[int], bool], what: str) -> None:
    value = getattr(window, name)
    if value is not None and not holds(value):
        raise InvalidValue(f"windowConfig.{_key(name)} is {value}: it has to be {what}")
