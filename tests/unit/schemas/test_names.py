import subprocess
import sys

import pytest

from magnetar import schemas
from magnetar.schemas.schema import Schema


@pytest.mark.parametrize("name", schemas.__all__)
def test_every_name_is_there(name):
    found = getattr(schemas, name)
    assert getattr(schemas, name) is found
    assert not name.endswith("Schema") or issubclass(found, Schema)


def test_another_name_is_missing_as_from_any_module():
    with pytest.raises(AttributeError, match="no attribute 'XmlSchema'"):
        _ = schemas.XmlSchema


def test_they_bring_no_library_along():
    heavy = ("fastavro", "pydantic", "msgspec", "google.protobuf.json_format")
    program = f"import sys, magnetar.schemas; print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
