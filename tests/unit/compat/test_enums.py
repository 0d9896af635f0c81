"""Members have names and numbers; tests/compatibility/test_compat_names.py compares all of them."""

import pytest

from magnetar.compat.enums import ConsumerType, Result


def test_a_member_is_no_number_but_has_one():
    assert ConsumerType.Shared != 1
    assert int(ConsumerType.Shared) == 1
    assert [10, 11, 12][ConsumerType.Shared] == 11
    assert str(Result.Ok) == "Result.Ok"


def test_there_is_no_member_of_another_number():
    with pytest.raises(ValueError, match="99"):
        Result(99)
