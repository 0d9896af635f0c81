import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import InvalidValue
from magnetar.model.names import TopicName
from magnetar.model.records import (
    BUNDLES_MAX,
    RING_END,
    Bundles,
    ClusterData,
    PartitionedTopicMetadata,
    TenantInfo,
)

FOUR = ["0x00000000", "0x40000000", "0x80000000", "0xc0000000", "0xffffffff"]


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


def test_even_bundles_are_those_of_pulsar():
    assert Bundles.even(4).to_json() == {"boundaries": FOUR, "numBundles": 4}
    assert Bundles.even(2).to_json()["boundaries"] == ["0x00000000", "0x80000000", "0xffffffff"]
    assert Bundles.even(1).to_json()["boundaries"] == ["0x00000000", "0xffffffff"]
    assert Bundles.even(3).to_json()["boundaries"][1:3] == ["0x55555555", "0xaaaaaaaa"]


@pytest.mark.parametrize("count", [0, -1, BUNDLES_MAX + 1])
def test_a_number_of_bundles_beyond_the_bounds_is_refused(count):
    with pytest.raises(InvalidValue):
        Bundles.even(count)


@pytest.mark.parametrize(
    "sent", [{}, {"numBundles": 0}, {"numBundles": -1}, {"numBundles": None}, {"boundaries": []}]
)
def test_bundles_left_to_us_are_four(sent):
    assert Bundles.from_json(sent).to_json()["boundaries"] == FOUR


@pytest.mark.parametrize(
    "boundaries",
    [["0x00000000"], ["0x00000000", "0x80000000"], ["0x1", "0xffffffff"], ["zzz"], [1, 2]],
)
def test_boundaries_that_do_not_tile_the_ring_are_refused(boundaries):
    with pytest.raises(InvalidValue, match="Invalid bundle boundaries"):
        Bundles.from_json({"boundaries": boundaries})


def test_boundaries_are_put_in_order():
    sent = ["0xffffffff", "0x80000000", "0x00000000", "0x80000000"]
    assert Bundles.from_json({"boundaries": sent}) == Bundles.even(2)


# What a Pulsar 4.0.7 broker answered.
@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("persistent://golden/topics/data", "0x80000000_0xc0000000"),
        ("persistent://golden/topics/none", "0x40000000_0x80000000"),
        ("persistent://golden/ex/t", "0x40000000_0x80000000"),  # Its hash is 1501389178.
        ("persistent://golden/topics/p1-partition-2", "0x00000000_0x40000000"),
        ("persistent://golden/topics/p2-partition-1", "0x00000000_0x40000000"),
        ("persistent://golden/topics/t3", "0x00000000_0x40000000"),
    ],
)
def test_a_topic_lies_in_the_bundle_where_pulsar_has_it(topic, expected):
    assert Bundles.even(4).range_of(TopicName.parse(topic)) == expected


@pytest.mark.parametrize("count", [1, 2, 7])
def test_every_hash_lies_in_a_bundle_also_the_first_and_the_last(count):
    bundles = Bundles.even(count)
    first = TopicName.parse("persistent://public/default/PkPaboE")  # CRC-32 0x00000000
    last = TopicName.parse("persistent://public/default/ME6ajal")  # CRC-32 0xffffffff
    assert bundles.range_of(first).startswith("0x00000000_")
    assert bundles.range_of(last).endswith("_0xffffffff")


@given(
    st.sets(st.integers(1, RING_END - 1), max_size=20),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip),
)
def test_bundles_tile_the_ring(cuts, local):
    bundles = Bundles((0, *sorted(cuts), RING_END))
    topic = TopicName("persistent", "t", "n", local)
    place = zlib.crc32(str(topic).encode())
    lower, _, upper = bundles.range_of(topic).partition("_")
    assert int(lower, 16) <= place
    assert place < int(upper, 16) or (place == int(upper, 16) == RING_END)
    assert f"{lower},{upper}" in ",".join(bundles.to_json()["boundaries"])
    assert Bundles.from_json(bundles.to_json()) == bundles


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
