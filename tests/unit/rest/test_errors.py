import json

import pytest

from magnetar import errors as ours
from magnetar.rest import errors
from magnetar.rest.errors import Rejection, answer, status_of, unexpected


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


def test_a_failure_nobody_foresaw_is_our_fault():
    reply = unexpected(KeyError("x"))
    assert reply.status == 500
    assert "KeyError" in json.loads(reply.body)["reason"]


def test_a_wrong_method_is_told_the_right_ones():
    reply = Rejection(405, "x", allow="GET,HEAD").reply()
    assert reply.headers == {"Allow": "GET,HEAD"}
    assert Rejection(404, "x").reply().headers == {}
