import pytest

from magnetar.broker.config import Config
from magnetar.broker.settings.bookkeeper import servers_and_root
from magnetar.broker.settings.others import Status
from magnetar.errors import InvalidValue

CLUSTER = {"metadataStoreUrl": "zk:one:2181"}
COPIES = [f"managedLedgerDefault{what}" for what in ("EnsembleSize", "WriteQuorum", "AckQuorum")]


def test_quorums_are_at_most_ensembles():
    def refused(*sizes):
        given = dict(zip(COPIES, sizes, strict=True))
        return Config.read_to_show(flags={**CLUSTER, **given}).refused

    assert not refused(3, 3, 2)
    assert COPIES[1] in refused(2, 3, 2)[0]
    assert COPIES[2] in refused(3, 2, 3)[0]


def test_a_broker_that_is_alone_keeps_one_copy():
    for key in COPIES:
        (said,) = Config.read_to_show(flags={key: 3}).refused
        assert said.startswith(key)
        (other,) = Config.read(flags={key: 2}).others
        assert other.status is Status.NOT_DONE
        assert not Config.read(flags={key: 1}).others
        assert not Config.read(flags={**CLUSTER, key: 2}).others


def test_what_only_a_cluster_has_is_refused_without_one():
    for given in ({"managedLedgerPassword": "s"}, {"bookkeeperMetadataServiceUri": "zk:o:1/l"}):
        (said,) = Config.read_to_show(flags=given).refused
        assert "metadataStoreUrl" in said
        assert "'s'" not in said
        assert not Config.read_to_show(flags={**CLUSTER, **given}).refused


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("zk+hierarchical://one:2181/ledgers", ("one:2181", "/ledgers")),
        ("zk+null://one:2181;two:2181/ledgers/", ("one:2181,two:2181", "/ledgers")),
        ("zk://one:2181/path/more/l", ("one:2181/path/more", "/l")),
        ("metadata-store:zk:one:2181/ledgers", ("one:2181", "/ledgers")),
    ],
)
def test_where_bookies_are_listed(uri, found):
    assert servers_and_root(uri) == found


def test_a_uri_of_something_else_is_refused():
    with pytest.raises(InvalidValue, match="zk"):
        servers_and_root("etcd://one:2379/ledgers")
    given = {"bookkeeperMetadataServiceUri": "zk://one:2181"}
    assert Config.read_to_show(flags={**CLUSTER, **given}).refused
