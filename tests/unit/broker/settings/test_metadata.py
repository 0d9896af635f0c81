import pytest

from magnetar.broker.config import Config
from magnetar.broker.settings.metadata import servers_of
from magnetar.errors import InvalidValue


def refused(**settings):
    return Config.read_to_show(flags=settings).refused


@pytest.mark.parametrize(
    ("url", "servers"),
    [
        ("zk:one:2181", "one:2181"),
        ("zk:one:2181,two:2181/path", "one:2181,two:2181/path"),
        ("one:2181,two:2182", "one:2181,two:2182"),
        ("zk:one", "one"),
        ("zk:[::1]:2181,[fe80::2%eth0]/path", "[::1]:2181,[fe80::2%eth0]/path"),
        ("zk://one:2181/a/b/", "one:2181/a/b"),
        ("", ""),
    ],
)
def test_the_servers_of_a_url(url, servers):
    assert servers_of(url) == servers


@pytest.mark.parametrize(
    "url", ["rocksdb:/data", "etcd:http://one:2379", "memory:local", "zk:,x", "zk:::1:2181"]
)
def test_another_metadata_store_is_refused(url):
    with pytest.raises(InvalidValue, match="zk:host:2181"):
        servers_of(url)
    (said,) = refused(metadataStoreUrl=url)
    assert said.startswith(f"metadataStoreUrl='{url}'")


def test_a_former_name_is_taken():
    config = Config.read(flags={"zookeeperServers": "one:2181", "zooKeeperSessionTimeoutMillis": 7})
    assert config.metadata.in_cluster
    assert config.metadata.servers == "one:2181"
    assert config.metadata.session_timeout_s == 0.007


def test_one_ensemble_has_all():
    one = {"metadataStoreUrl": "zk:one:2181"}
    assert not refused(**one, configurationMetadataStoreUrl="one:2181")
    (said,) = refused(**one, configurationMetadataStoreUrl="zk:two:2181")
    assert "configurationMetadataStoreUrl" in said
    assert refused(configurationMetadataStoreUrl="zk:two:2181")


def test_what_cannot_be_meant_is_refused():
    one = {"metadataStoreUrl": "zk:one:2181"}
    assert "zookeeperCredentials='***'" in refused(**one, zookeeperCredentials="secret")[0]
    assert "TrustCerts" in refused(**one, zookeeperTlsEnabled=True)[0]
    assert "storageInMemory" in refused(**one, storageInMemory=True)[0]
