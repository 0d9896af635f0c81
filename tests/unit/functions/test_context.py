import logging
from datetime import timedelta

import pytest
from support.functions import configured

from magnetar.compat.enums import CompressionType
from magnetar.compat.functions.serde import IdentitySerDe
from magnetar.compat.message import Unreceived
from magnetar.compat.message_id import MessageId
from magnetar.errors import InvalidValue, NotAllowed
from magnetar.functions.context import FunctionContext, WindowContext
from magnetar.functions.instance_metrics import InstanceMetrics
from magnetar.functions.state import FunctionState

MESSAGE = Unreceived(
    data=b"5",
    message_id=MessageId(3, 7, 9),
    key="k",
    topic="persistent://public/default/numbers",
    event_time_ms=7,
)


def context(kind=FunctionContext, **keys):
    state = FunctionState("0", commits=False)
    made = kind(
        configured("Double", **keys),
        instance_id=2,
        logger=logging.getLogger(),
        metrics=InstanceMetrics(),
        serializer=lambda _name: IdentitySerDe().serialize,
        state=lambda: state,
    )
    if kind is FunctionContext:
        made.begin(MESSAGE)
    return made


def test_it_tells_of_the_message_and_the_function():
    it = context(userConfig={"factor": 3})
    assert it.get_message_key() == it.get_partition_key() == "k"
    assert it.get_message_eventtime() == 7
    assert it.get_message_properties() == {}
    assert it.get_ordering_key() == ""
    assert isinstance(it.get_message_id(), MessageId)
    assert (it.get_message_partition_index(), it.get_message_sequence_id()) == (3, 7 << 28 | 9)
    assert it.get_current_message_topic_name() == "persistent://public/default/numbers"
    names = it.get_function_tenant(), it.get_function_namespace(), it.get_function_name()
    assert names == ("public", "default", "double")
    assert (it.get_instance_id(), it.get_function_version()) == (2, "latest")
    assert it.get_user_config_map() == {"factor": 3}
    assert it.get_user_config_value("other") is None
    assert it.get_input_topics() == ["numbers"]
    assert it.get_output_topic() == "results"
    assert it.get_output_serde_class_name() == ""


def test_what_is_published_is_collected_with_all_that_was_said():
    it = context()
    it.publish(
        "elsewhere",
        5,
        properties={"a": "b"},
        compression_type=CompressionType.ZSTD,
        message_conf={"partition_key": "k", "deliver_after": timedelta(seconds=2)},
    )
    (sent,) = it.sent
    assert (sent.topic, sent.compression) == (
        "persistent://public/default/elsewhere",
        CompressionType.ZSTD,
    )
    assert (sent.message.value, sent.message.key) == (b"5", "k")
    assert (sent.message.properties, sent.message.deliver_after_s) == ({"a": "b"}, 2.0)


def test_what_a_message_cannot_have_is_refused():
    with pytest.raises(InvalidValue, match="sequence_id is not one of"):
        context().publish("elsewhere", 5, message_conf={"sequence_id": 5})
    with pytest.raises(InvalidValue, match="use CompressionType"):
        context().publish("elsewhere", 5, compression_type="lz4")


def test_secrets_are_text_or_are_found(tmp_path, monkeypatch):
    (tmp_path / "password").write_text("from a file\n")
    monkeypatch.setenv("PASSWORD", "from the environment")
    it = context(
        secrets={
            "text": "here",
            "env": {"env": "PASSWORD"},
            "file": {"path": str(tmp_path / "password")},
            "gone": {"env": "NOT_SET"},
            "odd": {"vault": 5},
        }
    )
    assert it.get_secret("text") == "here"
    assert it.get_secret("env") == "from the environment"
    assert it.get_secret("file") == "from a file"
    assert it.get_secret("nobody's") is None
    with pytest.raises(InvalidValue, match="the environment has no NOT_SET"):
        it.get_secret("gone")
    with pytest.raises(InvalidValue, match="has to be text"):
        it.get_secret("odd")


def test_state_is_bytes_or_text():
    it = context()
    it.put_state("key", "ü")
    assert it.get_state("key") == "ü".encode()
    with pytest.raises(TypeError, match="serialize it"):
        it.put_state("key", 5)
    it.del_state("key")
    assert it.get_state("key") is None
    it.incr_counter("n", 2)
    it.incr_counter("n", 3)
    assert it.get_counter("n") == 5
    it.del_counter("n")
    assert it.get_counter("n") is None


@pytest.mark.parametrize("call", ["seek", "pause", "resume"])
def test_what_makes_no_sense_is_refused_by_name(call):
    with pytest.raises(NotAllowed, match=f"^{call}: a function"):
        getattr(context(), call)("numbers", 0)


def test_only_functions_that_do_it_themselves_acknowledge():
    with pytest.raises(NotAllowed, match="set autoAck false"):
        context().ack(MessageId(), "numbers")
    with pytest.raises(ValueError, match="only ids from get_message_id"):
        context(autoAck=False).ack(MessageId(), "numbers")


def test_a_window_has_many_messages():
    it = context(WindowContext)
    it.open([MESSAGE, MESSAGE], 10, 20)
    assert [message.data() for message in it.get_messages()] == [b"5", b"5"]
    assert (it.get_window_start(), it.get_window_end()) == (10, 20)
    with pytest.raises(NotAllowed, match="get_messages"):
        it.get_message_key()
