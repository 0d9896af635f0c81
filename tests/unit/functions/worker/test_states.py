"""Values of states by the names of Pulsar's FunctionState."""

from magnetar.functions.worker.states import shown, value_of


def test_text_bytes_and_counters():
    assert shown(b"x", None) == {"stringValue": "x"}
    assert shown(b"\xff", None) == {"byteValue": "/w=="}
    assert shown(None, 3) == {"numberValue": 3}
    assert shown(None, None) is None


def test_what_can_be_put():
    assert value_of({"stringValue": "x"}) == b"x"
    assert value_of({"byteValue": "/w=="}) == b"\xff"
    assert value_of({"numberValue": 3}) is None
