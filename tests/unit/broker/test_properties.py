from magnetar.broker.properties import parse_properties


def test_a_key_ends_at_the_first_separator():
    text = "a=1\nb: 2\nc 3\nd = x=y:z\n  e\t=\t5  \n"
    assert parse_properties(text) == {"a": "1", "b": "2", "c": "3", "d": "x=y:z", "e": "5"}


def test_comments_and_blank_lines_say_nothing():
    assert parse_properties("# a=1\n\n   ! b=2\n \t \nc=#3\n") == {"c": "#3"}


def test_a_backslash_at_the_end_joins_lines():
    assert parse_properties("a=one,\\\n    two,\\\n  three\nb=2\\\\\nc=3") == {
        "a": "one,two,three",
        "b": "2\\",
        "c": "3",
    }


def test_a_line_that_goes_on_takes_a_comment_sign_as_text():
    assert parse_properties("a=1\\\n#2") == {"a": "1#2"}


def test_escapes_are_resolved():
    text = r"a\=b\:c\ d=tab\there\u0041\x" + "\n"
    assert parse_properties(text) == {"a=b:c d": "tab\thereAx"}


def test_a_key_alone_is_empty():
    assert parse_properties("a\nb=\n") == {"a": "", "b": ""}


def test_the_last_value_of_a_key_counts():
    assert parse_properties("a=1\na=2") == {"a": "2"}
