import pytest

from magnetar.model.names import NamespaceName, TopicName
from magnetar.storage.metadata import paths

TOPIC = TopicName.parse("persistent://t/n/a/b c")


def test_every_kind_of_record_has_its_place():
    namespace = NamespaceName("t", "n")
    assert paths.cluster("c") == "/admin/clusters/c"
    assert paths.tenant("t") == "/admin/policies/t"
    assert paths.namespace(namespace) == "/admin/policies/t/n"
    assert paths.partitioned_topic(TOPIC) == "/admin/partitioned-topics/t/n/persistent/a%2Fb+c"
    assert paths.managed_ledger_name(TOPIC) == "t/n/persistent/a%2Fb+c"
    ledger = paths.managed_ledger(paths.managed_ledger_name(TOPIC))
    assert ledger == "/managed-ledgers/t/n/persistent/a%2Fb+c"
    assert paths.deletion(TOPIC) == "/topic-deletions/persistent%3A%2F%2Ft%2Fn%2Fa%2Fb+c"
    assert paths.cursor("t/n/persistent/x", "s/1") == "/managed-ledgers/t/n/persistent/x/s%2F1"


def test_topics_are_children_of_their_namespace():
    folder = paths.managed_ledgers(TOPIC.namespace, TOPIC.domain)
    assert paths.managed_ledger(paths.managed_ledger_name(TOPIC)).startswith(folder + "/")
    folder = paths.partitioned_topics(TOPIC.namespace, TOPIC.domain)
    assert paths.partitioned_topic(TOPIC).startswith(folder + "/")


@pytest.mark.parametrize("name", ["x", "a/b", "a%2Fb", "a b+c", "ä€\U0001f600", "%", "a\nb", ".."])
def test_any_name_is_one_segment_and_comes_back(name):
    segment = paths.encode(name)
    assert "/" not in segment
    assert paths.decode(segment) == name


def test_names_are_encoded_as_pulsars_brokers_do():
    assert paths.encode("aZ09._-* ~/+%ä") == "aZ09._-*+%7E%2F%2B%25%C3%A4"


@pytest.mark.parametrize("path", ["/admin/policies", "/admin/policies/t", "/admin/clusters/c"])
def test_only_a_namespaces_record_is_at_its_path(path):
    assert paths.namespace_at(path) is None
    namespace = NamespaceName("t", "n")
    assert paths.namespace_at(paths.namespace(namespace)) == namespace
