from magnetar.model.names import TopicName
from magnetar.storage.codec.deletion import encode_deletion
from magnetar.storage.codec.json_object import decode


def test_a_note_names_its_topic():
    topic = TopicName.parse("persistent://public/default/a/b c%")
    assert decode(encode_deletion(topic)) == {"topic": str(topic)}
