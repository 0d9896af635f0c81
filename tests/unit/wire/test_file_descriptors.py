import base64
import json

import pytest
from unit.broker.schema.samples import native

from magnetar.errors import InvalidSchema
from magnetar.wire.file_descriptors import root_message


def test_the_fields_of_a_message_are_known_by_number():
    root = root_message(native(("id", 1, "TYPE_SINT32"), ("note", 7, "TYPE_STRING")).data)
    assert root.name == "shop.Order"
    found = {place: field.name for place, field in root.fields.items()}
    assert found == {("shop.Order", 1): "id", ("shop.Order", 7): "note"}
    assert root.fields["shop.Order", 7].kind == "string"


@pytest.mark.parametrize(
    "sent",
    [
        b"zz",
        b"[]",
        b"{}",
        json.dumps({"fileDescriptorSet": "!", "rootMessageTypeName": "x"}).encode(),
        json.dumps(
            {
                "fileDescriptorSet": base64.b64encode(b"\xff\xff").decode(),
                "rootMessageTypeName": "x",
            }
        ).encode(),
        json.dumps({"fileDescriptorSet": "", "rootMessageTypeName": "x"}).encode(),
    ],
)
def test_what_describes_no_message_is_refused(sent):
    with pytest.raises(InvalidSchema, match="deserialize ProtobufNative Schema failed"):
        root_message(sent)
