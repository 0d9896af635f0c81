"""Arguments of another type are refused as theirs."""

import pytest

from magnetar.compat.checks import check_range, check_type, check_type_or_none


def test_the_argument_is_named():
    check_type(int, 5, "five")
    with pytest.raises(ValueError, match="five is expected to be of type 'int' and not 'str'"):
        check_type(int, "5", "five")
    check_type_or_none(str, None, "name")
    with pytest.raises(ValueError, match="name is expected to be either None or of type 'str'"):
        check_type_or_none(str, 5, "name")


def test_a_number_has_its_range():
    check_range("size", 0, 0)
    with pytest.raises(ValueError, match="size is -1; it must be from 0"):
        check_range("size", -1, 0)
