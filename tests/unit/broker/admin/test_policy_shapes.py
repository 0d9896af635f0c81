from magnetar.broker.admin.policy_shapes import shape_of
from magnetar.model.policies import ROWS
from magnetar.model.policy_values import Words


def shape(name):
    return shape_of(ROWS[name].kind, ROWS[name].words)


def test_plain_values():
    assert shape("message_ttl_s") == {"kind": "number", "unit": "s", "zero": "never"}
    assert shape("deduplication") == {"kind": "flag"}
    assert shape_of(str | None, Words()) == {"kind": "text"}
    assert shape("subscription_types")["options"] == [
        "Exclusive",
        "Shared",
        "Failover",
        "Key_Shared",
    ]
    assert shape("subscription_auth_mode") == {"kind": "choice", "options": ["None", "Prefix"]}


def test_an_object_has_its_fields_by_their_names_in_json():
    kind, partitions = (shape("auto_topic_creation")["fields"][index] for index in (1, 2))
    assert kind == {
        "name": "topicType",
        "label": "As",
        "shape": {
            "kind": "choice",
            "options": ["non-partitioned", "partitioned"],
            "optional": True,
        },
    }
    assert partitions["shape"] == {"kind": "number", "unit": "", "zero": "", "optional": True}
    assert not shape("retention")["fields"][0]["shape"]["optional"]
