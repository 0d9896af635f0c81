import pytest

from magnetar.broker.config import Config
from magnetar.errors import InvalidValue
from magnetar.model.offload_policies import DELETION_LAG_MS, OffloadPolicies

SHIPPED = OffloadPolicies(deletion_lag_ms=DELETION_LAG_MS, read_priority="tiered-storage-first")


def test_nothing_is_offloaded_unless_somebody_says_so():
    policies = Config.read().offload.policies()
    assert policies == SHIPPED
    assert policies.location() is None


def test_a_broker_may_offload_everything():
    flags = {
        "managedLedgerOffloadDriver": "aws-s3",
        "managedLedgerOffloadAutoTriggerSizeThresholdBytes": 5,
        "managedLedgerOffloadThresholdInSeconds": 6,
        "managedLedgerOffloadDeletionLagMs": 7,
        "managedLedgerDataReadPriority": "bookkeeper-first",
        "s3ManagedLedgerOffloadBucket": "sales",
        "s3ManagedLedgerOffloadRegion": "eu-west-1",
    }
    assert Config.read(flags=flags).offload.policies() == OffloadPolicies(
        driver="aws-s3",
        threshold_bytes=5,
        threshold_s=6,
        deletion_lag_ms=7,
        read_priority="bookkeeper-first",
        s3_bucket="sales",
        s3_region="eu-west-1",
    )


def test_a_driver_without_its_place_is_refused():
    config = Config.read(flags={"managedLedgerOffloadDriver": "filesystem"})
    with pytest.raises(InvalidValue, match="fileSystemURI"):
        config.offload.policies()


@pytest.mark.parametrize("driver", ["aliyun-oss", "hdfs"])
def test_a_driver_that_there_is_not_is_refused(driver):
    with pytest.raises(InvalidValue, match="managedLedgerOffloadDriver"):
        Config.read(flags={"managedLedgerOffloadDriver": driver})
