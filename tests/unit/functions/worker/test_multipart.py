"""Forms with files, written and read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import InvalidValue
from magnetar.functions.worker.multipart import Part, form, parts_of

# As Java's admin client sends one.
JAVAS = (
    b'--x\r\nContent-Disposition: form-data; name="functionConfig"\r\n'
    b"Content-Type: application/json; charset=UTF-8\r\n"
    b"Content-Transfer-Encoding: 8bit\r\n\r\n{}\r\n"
    b'--x\r\nContent-Disposition: form-data; name="data"; filename="f.py"\r\n'
    b"Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: binary\r\n\r\n"
    b"a\r\n--\nb\r\n--x--\r\n"
)


NAMES = st.text("abcXYZ09._-", min_size=1, max_size=9)


@given(st.dictionaries(NAMES, st.builds(Part, st.binary(), st.just("") | NAMES), max_size=4))
def test_what_is_written_can_be_read(parts):
    kind, body = form(parts, "boundary-that-is-in-none")
    assert parts_of(kind, body) == parts


def test_a_form_of_javas_client_can_be_read():
    parts = parts_of("multipart/form-data; boundary=x", JAVAS)
    assert parts == {"functionConfig": Part(b"{}"), "data": Part(b"a\r\n--\nb", "f.py")}
    assert parts["functionConfig"].text == "{}"


def test_an_unquoted_boundary_and_name_are_taken():
    body = b"--b\r\nContent-Disposition: form-data; name=data\r\n\r\nx\r\n--b--"
    assert parts_of('Multipart/Form-Data; boundary="b"', body)["data"].data == b"x"


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        ("application/json", b"{}", "the body is application/json: send multipart/form-data"),
        ("", b"", "the body is of no type"),
        ("multipart/form-data", b"", "send multipart"),
        ("multipart/form-data; boundary=x", JAVAS[:-6], "the form has no end"),
        ("multipart/form-data; boundary=x", b"--x\r\nA: b\r\n\r\nc\r\n--x--", "has no name"),
        ("multipart/form-data; boundary=x", b"--x\r\nA: b\r\n--x--", "has no name"),
    ],
)
def test_what_is_no_form_is_refused(kind, body, said):
    with pytest.raises(InvalidValue, match=said):
        parts_of(kind, body)


def test_a_field_that_is_no_text_is_refused():
    with pytest.raises(InvalidValue, match="not UTF-8"):
        _ = Part(b"\xff").text
