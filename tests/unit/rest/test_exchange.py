import json

import pytest

from magnetar.rest.exchange import JSON, Reply, Request, done, shown, text


@pytest.mark.parametrize(
    ("accept", "content_type", "expected"),
    [
        ("application/json", JSON, True),
        ("*/*", JSON, True),
        ("", JSON, True),
        ("application/*", JSON, True),
        ("text/plain", JSON, False),
        ("text/html, application/json;q=0.9", JSON, True),
        ("text/*", JSON, False),
        ("text/*", "text/html", True),
        ("APPLICATION/JSON", JSON, True),
    ],
)
def test_a_client_accepts_what_it_names_or_a_wildcard_covers(accept, content_type, expected):
    assert Request("GET", "/", accept=accept).accepts(content_type) is expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [("true", True), ("TRUE", True), ("false", False), ("yes", False), ("", False), (None, True)],
)
def test_a_flag_is_on_when_it_says_true(query, expected):
    request = Request("GET", "/", query={} if query is None else {"force": query})
    assert request.flag("force", default=True) is expected


def test_a_value_is_shown_as_json_with_its_letters_as_they_are():
    reply = shown(["persistent://t/n/äö"])
    assert json.loads(reply.body) == ["persistent://t/n/äö"]
    assert "äö".encode() in reply.body
    assert (reply.status, reply.content_type) == (200, JSON)


def test_words_are_labelled_json_as_pulsar_does():
    assert text("ok") == Reply(200, b"ok", JSON)


def test_what_is_done_says_nothing():
    assert done() == Reply(204)
