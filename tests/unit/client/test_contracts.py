"""Both producers keep to the contract an application sees."""

import inspect

import pytest

from magnetar.client.contracts import Producer
from magnetar.client.partitioned import PartitionedProducer
from magnetar.client.producer import TopicProducer

CALLS = [name for name, call in vars(Producer).items() if inspect.isfunction(call)]
PUBLIC = [name for name in CALLS if not name.startswith("_")] + ["__aenter__", "__aexit__"]


@pytest.mark.parametrize("kind", [TopicProducer, PartitionedProducer])
@pytest.mark.parametrize("name", PUBLIC)
def test_calls_have_the_signature_of_the_contract(kind, name):
    promised, kept = getattr(Producer, name), getattr(kind, name)
    assert inspect.iscoroutinefunction(kept) == inspect.iscoroutinefunction(promised)
    assert inspect.signature(kept) == inspect.signature(promised)


@pytest.mark.parametrize("kind", [TopicProducer, PartitionedProducer])
def test_properties_are_all_there(kind):
    promised = {name for name, value in vars(Producer).items() if isinstance(value, property)}
    assert promised
    assert promised <= {name for name, value in vars(kind).items() if isinstance(value, property)}


@pytest.mark.parametrize("name", [name for name in PUBLIC if not name.startswith("_")])
def test_the_contract_says_what_it_promises(name):
    assert inspect.getdoc(getattr(Producer, name))
