from magnetar.broker.assemble.cluster_stores import bookkeeper_settings
from magnetar.broker.config import Config


def test_the_settings_of_bookkeeper_reach_its_client():
    flags = {
        "metadataStoreUrl": "zk:one:2181",
        "managedLedgerDefaultEnsembleSize": 3,
        "managedLedgerDigestType": "MAC",
        "managedLedgerPassword": "s",
        "bookkeeperClientSpeculativeReadTimeoutInMillis": 500,
    }
    found = bookkeeper_settings(Config.read(flags=flags))
    assert (found.ensemble_size, found.write_quorum, found.password) == (3, 2, b"s")
    assert found.digest_type.name == "HMAC"
    assert found.speculative_read_s == 0.5
