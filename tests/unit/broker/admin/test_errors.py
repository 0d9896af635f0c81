import json

import pytest

from magnetar import errors as ours
from magnetar.broker.admin import errors
from magnetar.broker.admin.errors import Rejection, Unreadable, answer, page, status_of, unexpected
from magnetar.broker.admin.exchange import Request


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ours.TopicNotFound("x"), 404),
        (ours.AlreadyExists("x"), 409),
        (ours.ConsumerBusy("x"), 412),
        (ours.InvalidName("x"), 412),
        (ours.NotAllowed("x"), 405),
        (ours.NotAuthenticated("x"), 401),
        (ours.NotAuthorized("x"), 403),
        (ours.Fenced("x"), 503),
        (ours.CorruptEntry("x"), 500),
        (ours.UnknownFailure("x"), 500),
        (ours.MagnetarError("x"), 500),
    ],
)
def test_an_error_has_the_status_of_its_kind(error, status):
    assert status_of(error) == status
    reply = answer(error)
    assert reply.status == status
    assert json.loads(reply.body) == {"reason": "x"}


def everyone(kind: type[ours.MagnetarError]) -> list[type[ours.MagnetarError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in everyone(child))]


def test_every_error_has_a_status_chosen_for_it_or_its_family():
    for kind in everyone(ours.MagnetarError)[1:]:
        assert any(above in errors.STATUSES for above in kind.__mro__), kind


def test_a_rejection_has_its_own_status_and_words():
    reply = Rejection(406, "Number of partitions should be more than 0").reply()
    assert (reply.status, reply.content_type) == (406, "application/json")
    assert json.loads(reply.body)["reason"] == "Number of partitions should be more than 0"


def test_what_cannot_be_read_is_answered_in_plain_text():
    reply = Unreadable("not JSON").reply()
    assert (reply.status, reply.content_type, reply.body) == (400, "text/plain", b"not JSON")


def test_a_failure_nobody_foresaw_is_our_fault():
    reply = unexpected(KeyError("x"))
    assert reply.status == 500
    assert "KeyError" in json.loads(reply.body)["reason"]


def test_a_page_is_json_where_that_is_accepted():
    request = Request("GET", "/admin/v2/zzz", accept="application/json")
    reply = page(request, 404)
    assert json.loads(reply.body) == {
        "servlet": "magnetar",
        "message": "Not Found",
        "url": "/admin/v2/zzz",
        "status": "404",
    }


def test_a_page_is_html_for_a_browser_and_never_carries_its_markup():
    request = Request("GET", "/<script>", accept="text/html,*/*")
    reply = page(request, 404)
    assert reply.content_type == "text/html"
    assert b"&lt;script&gt;" in reply.body
    assert b"<script>" not in reply.body


def test_a_page_is_text_for_who_takes_only_that():
    reply = page(Request("GET", "/x", accept="text/plain"), 406)
    assert reply.content_type == "text/plain"
    assert reply.body.startswith(b"HTTP ERROR 406 Not Acceptable\n")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_there_is_no_page_for_methods_that_change_things(method):
    reply = page(Request(method, "/x", accept="application/json"), 405, "GET,HEAD")
    assert (reply.status, reply.body, reply.content_type) == (405, b"", None)
    assert reply.headers == {"Allow": "GET,HEAD"}
