import pytest

from magnetar.broker.settings.properties import Pair, parse_properties
from magnetar.errors import InvalidValue


def parsed(text: str) -> dict[str, str]:
    return {pair.key: pair.value for pair in parse_properties(text)}


def test_a_key_ends_at_the_first_separator():
    text = "a=1\nb: 2\nd = x=y:z\n  e\t=\t5  \nf :6\n"
    assert parsed(text) == {"a": "1", "b": "2", "d": "x=y:z", "e": "5", "f": "6"}


def test_comments_and_blank_lines_say_nothing():
    assert parsed("# a=1\n\n   ! b=2\n \t \nc=#3\n") == {"c": "#3"}


def test_a_backslash_at_the_end_joins_lines():
    assert parsed("a=one,\\\n    two,\\\n  three\nb=2\\\\\nc=3") == {
        "a": "one,two,three",
        "b": "2\\",
        "c": "3",
    }


def test_a_line_that_goes_on_takes_a_comment_sign_as_text():
    assert parsed("a=1\\\n#2") == {"a": "1#2"}


def test_escapes_are_resolved():
    text = r"a\=b\:c\ d=tab\there\u0041\x" + "\n"
    assert parsed(text) == {"a=b:c d": "tab\thereAx"}


def test_pairs_have_the_numbers_of_their_lines():
    text = "# one\n\na=1\nb=2\\\n  3\n! six\n c=\na=4"
    assert parse_properties(text) == [
        Pair("a", "1", 3),
        Pair("b", "23", 4),
        Pair("c", "", 7),
        Pair("a", "4", 8),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a=1\nalone\n", "line 2: 'alone' is not followed by '='"),
        ("# c\n\nkey value\n", "line 3: 'key' is not followed by '='"),
        ("key value=1", "line 1: 'key' is not followed by '='"),
        ("a=1\\\n  2\n<html>", "line 3: '<html>' is not followed by '='"),
        ("=1", "line 1: '=1' is not followed by '='"),
        ("a\\\n  b", "line 1: 'ab' is not followed by '='"),
    ],
)
def test_a_line_that_is_no_pair_is_refused_by_its_number(text, said):
    with pytest.raises(InvalidValue) as refused:
        parse_properties(text)
    assert str(refused.value) == f"{said}; write key=value, or # before a comment"


def test_what_follows_a_key_is_not_repeated():
    with pytest.raises(InvalidValue) as refused:
        parse_properties("tokenSecretKey data:;base64,abcd")
    assert "abcd" not in str(refused.value)
