import pytest

from magnetar.schemas.schema import Schema


def test_a_schema_says_how_to_encode_and_decode():
    with pytest.raises(TypeError, match="abstract"):
        Schema()
