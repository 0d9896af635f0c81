"""Reading a function's configuration, and showing it as Pulsar does."""

import pytest

from magnetar.errors import InvalidValue
from magnetar.functions.config import FunctionConfig, ProcessingGuarantees, SubscriptionPosition

# What pulsar-functions-utils 4.0.7 makes of {py, className, inputs: [a], output: b, name: fn}.
SHOWN = {
    "tenant": "public",
    "namespace": "default",
    "name": "fn",
    "className": "f.F",
    "inputSpecs": {
        "a": {
            "schemaProperties": {},
            "consumerProperties": {},
            "poolMessages": False,
            "regexPattern": False,
        }
    },
    "output": "b",
    "producerConfig": {
        "useThreadLocalProducers": False,
        "batchBuilder": "",
        "compressionType": "LZ4",
    },
    "processingGuarantees": "ATLEAST_ONCE",
    "retainOrdering": False,
    "retainKeyOrdering": False,
    "forwardSourceMessageProperty": True,
    "userConfig": {},
    "runtime": "PYTHON",
    "autoAck": True,
    "parallelism": 1,
    "resources": {"cpu": 1.0, "ram": 1073741824, "disk": 10737418240},
    "cleanupSubscription": True,
    "subscriptionPosition": "Latest",
}
GIVEN = {"py": "f.py", "className": "f.F", "inputs": ["a"], "output": "b", "name": "fn"}


def test_a_function_is_shown_as_pulsar_shows_it():
    assert FunctionConfig.parse(GIVEN).shown() == SHOWN


def test_what_is_shown_and_what_is_kept_can_be_read_again():
    config = FunctionConfig.parse({**GIVEN, "userConfig": {"k": [1]}, "parallelism": 2})
    assert FunctionConfig.parse(config.to_json()) == config
    assert FunctionConfig.parse({**config.shown(), "py": "f.py"}) == config


def test_a_window_is_shown_as_pulsar_shows_it():
    config = FunctionConfig.parse({**GIVEN, "windowConfig": {"windowLengthCount": 3}})
    assert config.shown()["windowConfig"] == {
        "windowLengthCount": 3,
        "slidingIntervalCount": 3,
        "actualWindowFunctionClassName": "f.F",
        "processingGuarantees": "ATLEAST_ONCE",
    }
    assert config.auto_ack is False


def test_a_window_by_event_time_has_a_lag_and_an_interval():
    window = {"windowLengthDurationMs": 1000, "timestampExtractorClassName": "f.Time"}
    found = FunctionConfig.parse({**GIVEN, "windowConfig": window}).window_config
    assert found is not None
    assert (found.sliding_interval_duration_ms, found.max_lag_ms) == (1000, 0)
    assert found.watermark_emit_interval_ms == 1000


def test_the_name_is_the_last_part_of_the_class():
    config = FunctionConfig.parse({"className": "orders.Total", "inputs": ["a"]})
    assert (config.name, config.fqfn) == ("Total", "public/default/Total")
    assert config.subscription == "public/default/Total"


def test_fqfn_is_tenant_namespace_and_name():
    config = FunctionConfig.parse({**GIVEN, "fqfn": "t/n/g", "subName": "mine"})
    assert (config.tenant, config.namespace, config.name) == ("t", "n", "g")
    assert config.subscription == "mine"
    with pytest.raises(InvalidValue, match="fqfn is 'g': it has to be tenant/namespace/name"):
        FunctionConfig.parse({**GIVEN, "fqfn": "g"})


def test_inputs_said_in_any_way_are_input_specs():
    config = FunctionConfig.parse(
        {
            **GIVEN,
            "topicsPattern": "public/default/x.*",
            "customSerdeInputs": {"c": "f.Serde"},
            "customSchemaInputs": {"d": "JSON"},
            "inputSpecs": {"e": {"regexPattern": True}, "g": None},
        }
    )
    assert config.input_topics == ("a", "c", "d", "g")
    assert config.topics_patterns == ("public/default/x.*", "e")
    assert config.input_specs["c"].serde_class_name == "f.Serde"
    assert config.input_specs["d"].schema_type == "JSON"


def test_a_batch_builder_may_be_given_by_itself():
    config = FunctionConfig.parse(
        {**GIVEN, "batchBuilder": "KEY_BASED", "producerConfig": {"compressionType": "ZSTD"}}
    )
    assert config.shown()["producerConfig"]["batchBuilder"] == "KEY_BASED"
    assert config.producer_config.compression_type == "ZSTD"


def test_words_become_the_values_that_they_name():
    config = FunctionConfig.parse(
        {**GIVEN, "processingGuarantees": "MANUAL", "subscriptionPosition": "Earliest"}
    )
    assert config.processing_guarantees is ProcessingGuarantees.MANUAL
    assert config.subscription_position is SubscriptionPosition.EARLIEST


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"inputTopics": ["a"]}, "unknown key inputTopics: did you mean inputSpecs"),
        ({"zzz": 1}, "unknown key zzz: there are runtimeFlags, tenant"),
        ({"inputSpecs": {"a": {"shemaType": "JSON"}}}, "inputSpecs.a.shemaType: did you mean"),
        ({"windowConfig": {"length": 3}}, "unknown key windowConfig.length"),
        ({"processingGuarantees": "ONCE"}, "processingGuarantees is 'ONCE': it has to be one of"),
        ({"inputs": "a,b"}, "inputs is 'a,b': it has to be a list of topics"),
        ({"inputs": [1]}, "it has to be a list of topics"),
        ({"customSerdeInputs": ["a"]}, "customSerdeInputs is .* a map of topics to names"),
        ({"parallelism": "two"}, "parallelism is not a whole number"),
        ({"inputSpecs": ["a"]}, "inputSpecs is a JSON list"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_key(given, said):
    with pytest.raises(InvalidValue, match=said):
        FunctionConfig.parse({**GIVEN, **given})
