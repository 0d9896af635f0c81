"""Every error of the tree has an answer at both edges: the protocol's code and HTTP's status."""

import pytest

from magnetar import errors
from magnetar.errors import MagnetarError
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.rest.errors import STATUSES
from magnetar.wire import errors as wire_errors


def everyone(kind: type[MagnetarError] = MagnetarError) -> list[type[MagnetarError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in everyone(child))]


TREE = [kind for kind in everyone() if kind.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", TREE, ids=lambda kind: kind.__name__)
def test_every_error_has_a_code_of_the_protocol(kind):
    assert wire_errors.to_code(kind("text")) in pb.ServerError.values()


@pytest.mark.parametrize("code", pb.ServerError.values(), ids=pb.ServerError.Name)
def test_every_code_of_the_protocol_has_an_error(code):
    error = wire_errors.from_code(code, "the text")
    assert isinstance(error, MagnetarError)
    assert "the text" in str(error)


def test_a_code_nobody_knows_is_an_error_too():
    assert isinstance(wire_errors.from_code(9999, "text"), errors.UnknownFailure)


@pytest.mark.parametrize(
    "kind", [kind for kind in TREE if kind is not MagnetarError], ids=lambda kind: kind.__name__
)
def test_every_error_has_a_status(kind):
    statuses = [STATUSES[above] for above in kind.__mro__ if above in STATUSES]
    assert statuses, f"{kind.__name__} and what is above it are missing in rest/errors.py"
    assert 400 <= statuses[0] <= 599


def test_the_tree_drawn_in_the_docstring_is_the_tree():
    drawn = errors.__doc__
    missing = [kind.__name__ for kind in TREE if kind.__name__ not in drawn]
    assert not missing
