"""What ``send`` is given becomes a message of ours."""

from datetime import timedelta

import pytest

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.compat.outgoing import built
from magnetar.compat.schema import BytesSchema, StringSchema

NOTHING = (None, None, None, None, None, False, None, None, None)


def test_every_argument_has_its_place():
    given = ({"a": "b"}, "k", "o", 7, ["c"], False, 5, 99, None)
    assert built(StringSchema(), "x", *given) == OutgoingMessage(
        b"x",
        key="k",
        ordering_key=b"o",
        properties={"a": "b"},
        sequence_id=7,
        event_time_ms=5,
        deliver_at_ms=99,
        replication_clusters=["c"],
    )


def test_what_is_empty_is_left_out():
    empty = ({}, "", "", 0, [], None, 0, 0, None)
    assert built(BytesSchema(), b"x", *empty) == OutgoingMessage(b"x")


def test_content_none_is_a_null_value():
    assert built(BytesSchema(), None, *NOTHING) == OutgoingMessage(b"", null_value=True)


def test_without_replication_no_cluster_gets_it():
    message = built(BytesSchema(), b"x", *NOTHING[:5], True, *NOTHING[6:])
    assert message.replication_clusters == ()


def test_a_delay_is_in_seconds():
    message = built(BytesSchema(), b"x", *NOTHING[:8], timedelta(milliseconds=1500))
    assert message.deliver_after_s == 1.5


@pytest.mark.parametrize("at", range(1, 9))
def test_an_argument_of_a_wrong_type_is_refused(at):
    wrong = list(NOTHING)
    wrong[at] = 1.5
    with pytest.raises(ValueError, match="is expected to be"):
        built(BytesSchema(), b"x", *wrong)


def test_content_and_properties_of_a_wrong_type_are_type_errors():
    with pytest.raises(TypeError, match="expected type is"):
        built(BytesSchema(), "text", *NOTHING)
    with pytest.raises(TypeError, match="properties are text"):
        built(BytesSchema(), b"x", {"a": 5}, *NOTHING[1:])
