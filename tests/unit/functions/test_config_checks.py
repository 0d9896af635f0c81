"""What is refused at submit, and told to have no effect."""

import pytest

from magnetar.errors import InvalidValue
from magnetar.functions.config import FunctionConfig
from magnetar.functions.config_checks import check, without_effect

GIVEN = {"py": "f.py", "className": "f.F", "inputs": ["a"], "output": "b", "name": "fn"}
WINDOW = {"windowLengthCount": 10}


def test_a_function_that_can_run_passes():
    check(FunctionConfig.parse(GIVEN))
    check(FunctionConfig.parse({**GIVEN, "windowConfig": WINDOW, "lateDataTopic": None}))
    check(FunctionConfig.parse({**GIVEN, "maxMessageRetries": 3, "deadLetterTopic": "dead"}))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"jar": "f.jar"}, "jar is set, but functions are written in Python: give .* as py"),
        ({"go": "f"}, "go is set"),
        ({"functionType": "x"}, "functionType is set, but there are no built-in functions"),
        ({"runtimeFlags": "-v"}, "runtimeFlags is set, but functions share a Spark session"),
        ({"customRuntimeOptions": "x"}, "customRuntimeOptions is set"),
        ({"skipToLatest": True}, "skipToLatest is set, but a function goes on where it stopped"),
        ({"exposePulsarAdminClientEnabled": True}, "exposePulsarAdminClientEnabled is set"),
        ({"runtime": "JAVA"}, "runtime is JAVA: it has to be PYTHON"),
        ({"className": None, "name": "n"}, "className is missing"),
        ({"tenant": "a b"}, "tenant: Invalid named entity"),
        ({"name": "a/b"}, "name: Invalid named entity"),
        ({"inputs": []}, "No input topic.s. specified for the function"),
        ({"inputs": ["a/b"]}, "input a/b is no name of a topic"),
        ({"topicsPattern": "public/default/(x"}, "is no regular expression"),
        ({"logTopic": "x/y"}, "logTopic is no name of a topic"),
        ({"output": "persistent://public/default/a"}, "is also being used as an input topic"),
        ({"output": "fn-state"}, "output is persistent://public/default/fn-state, where the fun"),
        ({"inputs": ["fn-state"]}, "an input is persistent://public/default/fn-state, where"),
        ({"parallelism": 0}, "parallelism is 0: it has to be 1 or more"),
        ({"timeoutMs": 0}, "timeoutMs is 0"),
        ({"timeoutMs": 5, "processingGuarantees": "MANUAL"}, "timeoutMs is for .* ATLEAST_ONCE"),
        ({"maxPendingAsyncRequests": -1}, "maxPendingAsyncRequests is -1"),
        ({"resources": {"cpu": 0}}, "resources.cpu is 0"),
        (
            {"maxMessageRetries": 1, "processingGuarantees": "EFFECTIVELY_ONCE"},
            "maxMessageRetries does not go with processingGuarantees EFFECTIVELY_ONCE",
        ),
        ({"deadLetterTopic": "dead"}, "give maxMessageRetries"),
        (
            {"retainKeyOrdering": True, "processingGuarantees": "EFFECTIVELY_ONCE"},
            "retainKeyOrdering does not go with",
        ),
        ({"retainKeyOrdering": True, "retainOrdering": True}, "are both set: give one"),
        ({"autoAck": False, "processingGuarantees": "ATMOST_ONCE"}, "use MANUAL"),
        ({"outputSchemaType": "JSON", "outputSerdeClassName": "f.S"}, "are both set: give one"),
        ({"producerConfig": {"cryptoConfig": {"a": 1}}}, "functions do not encrypt"),
        ({"inputSpecs": {"a": {"cryptoConfig": {"a": 1}}}}, "functions do not decrypt"),
        ({"inputSpecs": {"a": {"receiverQueueSize": -1}}}, "receiverQueueSize has to be"),
        ({"inputSpecs": {"a": {"consumerProperties": {"x": "y"}}}}, "nothing reads it"),
        (
            {"inputSpecs": {"a": {"schemaType": "JSON", "serdeClassName": "f.S"}}},
            "inputSpecs.a: schemaType and serdeClassName are both set",
        ),
        ({"windowConfig": {}}, "windowConfig has no length"),
        (
            {"windowConfig": {"windowLengthCount": 1, "windowLengthDurationMs": 1}},
            "give one of them",
        ),
        ({"windowConfig": {"windowLengthCount": 0}}, "windowConfig.windowLengthCount is 0"),
        (
            {"windowConfig": {**WINDOW, "slidingIntervalCount": -2}},
            "windowConfig.slidingIntervalCount is -2: it has to be 1 or more",
        ),
        ({"windowConfig": {**WINDOW, "maxLagMs": -1}}, "windowConfig.maxLagMs is -1"),
        (
            {"windowConfig": WINDOW, "processingGuarantees": "MANUAL"},
            "windowConfig does not go with processingGuarantees MANUAL",
        ),
    ],
)
def test_what_cannot_run_is_refused_by_its_key(given, said):
    with pytest.raises(InvalidValue, match=said):
        check(FunctionConfig.parse({**GIVEN, **given}))


def test_keys_without_effect_are_named():
    config = FunctionConfig.parse(
        {
            **GIVEN,
            "resources": {"cpu": 2},
            "maxPendingAsyncRequests": 5,
            "inputSpecs": {"a": {"receiverQueueSize": 10, "poolMessages": True}},
            "producerConfig": {"maxPendingMessages": 5, "useThreadLocalProducers": True},
        }
    )
    assert without_effect(config) == [
        "resources",
        "maxPendingAsyncRequests",
        "producerConfig.useThreadLocalProducers",
        "inputSpecs.a.poolMessages",
    ]
    assert without_effect(FunctionConfig.parse(GIVEN)) == []
