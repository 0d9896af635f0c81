"""Every public name and signature of the official client is there, and the same."""

import importlib
import inspect
from enum import Enum

import _pulsar
import pulsar
import pulsar.asyncio
import pytest

from magnetar import compat
from magnetar.compat.stand_in import MODULES

pytestmark = pytest.mark.compatibility

# What is not the same, and why.
NOT_HERE = {
    "pulsar.schema.definition.is_unicode": "whether Python 2's unicode is meant: there is none",
    "pulsar.schema.schema_avro.HAS_AVRO": "fastavro comes with Magnetar",
    "pulsar.schema.schema_protobuf.HAS_PROTOBUF": "protobuf comes with Magnetar",
}


def public(thing):
    return [name for name in vars(thing) if not name.startswith("_")]


def theirs(module):
    """The public names that a module of theirs has of its own, not from Python."""
    for name in public(module):
        home = getattr(getattr(module, name), "__module__", "") or ""
        if home.partition(".")[0] in ("pulsar", "_pulsar"):
            yield name


NAMES = [
    f"pulsar{part}.{name}"
    for part in MODULES
    for name in theirs(importlib.import_module(f"pulsar{part}"))
]


def both(name):
    module, _, attribute = name.rpartition(".")
    ours = importlib.import_module(module.replace("pulsar", "magnetar.compat", 1))
    return getattr(importlib.import_module(module), attribute), getattr(ours, attribute)


def test_there_are_as_many_names_as_ever():
    assert len(NAMES) > 150


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_there_and_means_the_same(name):
    if name in NOT_HERE:
        return
    official, ours = both(name)
    if inspect.isclass(official) and issubclass(official, BaseException):
        assert issubclass(ours, BaseException)
        bases = [base.__name__ for base in official.__mro__]
        assert [base.__name__ for base in ours.__mro__] == bases
    elif hasattr(official, "__members__"):
        assert issubclass(ours, Enum)
        assert {each.name: each.value for each in ours} == {
            each.name: each.value for each in official.__members__.values()
        }
        for member in official.__members__.values():
            same = ours[member.name]
            assert (str(same), repr(same), int(same)) == (str(member), repr(member), int(member))
            assert ours(member.value) is same
    elif official.__module__ == "_pulsar":
        missing = [each for each in public(official) if not hasattr(ours, each)]
        assert not missing
    elif inspect.isclass(official):
        check_class(name, official, ours)
    elif inspect.isfunction(official):
        assert described(ours) == described(official)


def check_class(name, official, ours):
    assert described(ours) == described(official)
    for attribute, value in vars(official).items():
        if attribute.startswith("_") and attribute not in {"__len__", "__str__"}:
            continue
        if f"{name}.{attribute}" in NOT_HERE:
            continue
        assert hasattr(ours, attribute), attribute
        if isinstance(value, property):
            assert isinstance(inspect.getattr_static(ours, attribute), property), attribute
        elif callable(getattr(official, attribute)):
            mine = getattr(ours, attribute)
            assert described(mine) == described(getattr(official, attribute)), attribute
            assert inspect.iscoroutinefunction(mine) == inspect.iscoroutinefunction(
                getattr(official, attribute)
            ), attribute


def described(function):
    """A signature without its annotations: names, kinds, and defaults as they print."""
    return [
        (each.name, each.kind, printed(each.default))
        for each in inspect.signature(function).parameters.values()
    ]


def printed(default):
    if isinstance(default, compat.schema.Schema | pulsar.schema.Schema):
        return type(default).__name__
    return repr(default)


def test_what_is_not_here_is_there_in_the_official_client():
    for name in NOT_HERE:
        module, _, attribute = name.rpartition(".")
        if module.rpartition(".")[2][:1].isupper():
            continue
        assert hasattr(importlib.import_module(module), attribute)


def test_the_exceptions_are_those_of_the_results():
    for result in _pulsar.Result.__members__:
        if result != "Ok":
            assert issubclass(getattr(compat, result), compat.PulsarException)
