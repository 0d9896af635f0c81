import pytest

from magnetar.model.records import ClusterData, PartitionedTopicMetadata, TenantInfo


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (ClusterData, {"serviceUrl": "http://a:8080", "later": [1]}),
        (TenantInfo, {"adminRoles": ["a"], "allowedClusters": ["c"], "later": {"x": 1}}),
        (PartitionedTopicMetadata, {"partitions": 3, "deleted": False, "later": "x"}),
        (
            PartitionedTopicMetadata,
            {"partitions": 1, "deleted": False, "properties": {"a": "b"}},
        ),
    ],
)
def test_a_record_read_and_written_is_the_same_with_fields_of_later_versions(kind, stored):
    assert kind.from_json(stored).to_json() == stored


def test_a_cluster_shows_what_is_set_and_the_defaults_of_the_rest():
    shown = ClusterData.of("http://h:8080", "pulsar://h:6650").shown()
    assert shown == {
        "serviceUrl": "http://h:8080",
        "brokerServiceUrl": "pulsar://h:6650",
        "brokerClientTlsEnabled": False,
        "tlsAllowInsecureConnection": False,
        "brokerClientTlsEnabledWithKeyStore": False,
    }
    assert ClusterData.from_json({"brokerClientTlsEnabled": True}).shown()["brokerClientTlsEnabled"]


def test_a_cluster_that_moved_keeps_what_else_is_known_of_it():
    before = ClusterData.from_json({"serviceUrl": "http://a:1", "proxyServiceUrl": "pulsar://p"})
    after = before.moved_to(ClusterData.of("http://b:2", "pulsar://b:3"))
    assert after.service_url == "http://b:2"
    assert after.broker_service_url == "pulsar://b:3"
    assert after.fields["proxyServiceUrl"] == "pulsar://p"


def test_roles_and_clusters_are_sets():
    info = TenantInfo.from_json({"adminRoles": ["b", "a", "b"], "allowedClusters": None})
    assert info.shown() == {"adminRoles": ["a", "b"], "allowedClusters": []}


def test_properties_are_shown_only_when_there_are_any():
    assert PartitionedTopicMetadata(2).shown() == {"partitions": 2, "deleted": False}
    assert "properties" not in PartitionedTopicMetadata(2, {}).shown()
    assert PartitionedTopicMetadata(2, {"a": "b"}).shown()["properties"] == {"a": "b"}
