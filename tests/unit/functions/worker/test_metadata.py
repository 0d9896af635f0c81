"""What is kept of a function, and what an update may change."""

import pytest

from magnetar.errors import InvalidValue
from magnetar.functions.config import FunctionConfig
from magnetar.functions.worker.metadata import FunctionMetaData, updated

GIVEN = {"className": "f.F", "inputs": ["a", "b"], "output": "c", "userConfig": {"k": 1}}
CONFIG = FunctionConfig.parse(GIVEN)
RECORD = FunctionMetaData(CONFIG, "abc", "f.py", created_ms=7)


def test_what_is_kept_can_be_read_again():
    assert FunctionMetaData.decode(RECORD.encode()) == RECORD
    stopped = RECORD.changed(running=False, deleted=True)
    assert FunctionMetaData.decode(stopped.encode()) == stopped
    assert (stopped.version, stopped.running) == (1, False)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"functionConfig": 3}'])
def test_what_cannot_be_read_is_refused(data):
    with pytest.raises(InvalidValue, match="persistent://public/functions/metadata cannot be read"):
        FunctionMetaData.decode(data)


def test_an_update_changes_what_it_gives():
    config = updated(CONFIG, {"parallelism": 3, "logTopic": "log", "output": None})
    assert (config.parallelism, config.log_topic, config.output) == (3, "log", "c")
    assert config.user_config == {"k": 1}
    assert updated(CONFIG, {"userConfig": {}}).user_config == {}
    assert updated(CONFIG, {"className": "f.G"}).class_name == "f.G"
    assert updated(CONFIG, {"batchBuilder": "KEY_BASED"}).producer_config.batch_builder


def test_an_update_of_nothing_changes_nothing():
    assert updated(CONFIG, {}) == CONFIG
    assert updated(CONFIG, GIVEN) == CONFIG
    assert updated(CONFIG, {**CONFIG.shown(), "name": CONFIG.name}) == CONFIG


def test_how_an_input_is_read_may_change():
    config = updated(CONFIG, {"inputSpecs": {"a": {"schemaType": "JSON"}}})
    assert config.input_specs["a"].schema_type == "JSON"
    assert set(config.input_specs) == {"a", "b"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"inputs": ["z"]}, "Input Topics cannot be altered: z is none of a, b"),
        ({"inputSpecs": {"a": {"isRegexPattern": True}}}, "isRegexPattern for input topic a"),
        ({"processingGuarantees": "MANUAL"}, "Processing Guarantees cannot be altered: it is ATL"),
        ({"retainOrdering": True}, "Retain Ordering cannot be altered"),
        ({"outputSchemaType": "JSON"}, "Output Schema mismatch"),
        ({"outputSerdeClassName": "f.S"}, "Output Serde mismatch"),
        ({"autoAck": False}, "AutoAck cannot be altered"),
        ({"subName": "s"}, "Subscription Name cannot be altered"),
        ({"nonsense": 1}, "unknown key nonsense"),
    ],
)
def test_what_is_fixed_is_refused(given, said):
    with pytest.raises(InvalidValue, match=said):
        updated(CONFIG, given)
