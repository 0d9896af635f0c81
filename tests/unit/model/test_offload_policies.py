import pytest

from magnetar.errors import InvalidValue
from magnetar.model.offload_policies import DRIVERS, OffloadLocation, OffloadPolicies
from magnetar.model.policies import Combined, Policies, combine
from magnetar.model.policy_rows import Level
from magnetar.model.policy_values import from_json, to_json


def test_a_folder_is_a_place():
    for uri in ("file:///srv/tiered", "/srv/tiered"):
        policies = OffloadPolicies(driver="filesystem", file_uri=uri)
        assert policies.location() == OffloadLocation("filesystem", "file:///srv/tiered", {}, {})


@pytest.mark.parametrize("uri", [None, "", "tiered", "hdfs://host/x", "file://host/x"])
def test_a_folder_on_another_machine_is_none(uri):
    with pytest.raises(InvalidValue, match="fileSystemURI"):
        OffloadPolicies(driver="filesystem", file_uri=uri).check()


@pytest.mark.parametrize("driver", ["S3", "aws-s3"])
def test_a_bucket_of_s3_is_a_place_and_what_opens_it_is_kept_apart(driver):
    policies = OffloadPolicies(
        driver=driver,
        s3_bucket="sales",
        region="eu-west-1",
        s3_endpoint="http://minio:9000",
        s3_key_id="id",
        s3_secret="secret",
        s3_role="reader",
    )
    place = policies.location()
    assert (place.url, place.secrets) == (
        "s3://sales",
        {"access_key_id": "id", "secret_access_key": "secret"},
    )
    assert place.options == {
        "region": "eu-west-1",
        "endpoint": "http://minio:9000",
        "role_arn": "reader",
    }


def test_buckets_of_google_and_azure_are_places():
    google = OffloadPolicies(driver="google-cloud-storage", gcs_bucket="b", gcs_key_file="/k")
    assert google.location() == OffloadLocation(
        google.driver, "gs://b", {}, {"service_account": "/k"}
    )
    azure = OffloadPolicies(driver="azureblob", bucket="b")
    assert azure.location() == OffloadLocation("azureblob", "az://b", {}, {})


@pytest.mark.parametrize("driver", ["S3", "google-cloud-storage", "azureblob"])
def test_a_bucket_must_have_a_name(driver):
    with pytest.raises(InvalidValue, match=r"^The bucket must be specified for namespace offload"):
        OffloadPolicies(driver=driver).check()


def test_what_is_not_known_is_refused():
    with pytest.raises(InvalidValue, match=f"support value: {','.join(DRIVERS)}"):
        OffloadPolicies(driver="aliyun-oss").check()
    with pytest.raises(InvalidValue, match="tiered-storage-first, bookkeeper-first"):
        OffloadPolicies(read_priority="nearest").check()


@pytest.mark.parametrize("said", ["bookkeeper-first", "BOOKKEEPER_FIRST"])
def test_the_priority_is_said_as_in_files_and_as_in_json(said):
    policies = OffloadPolicies(read_priority=said)
    policies.check()
    assert policies.local_first
    assert not OffloadPolicies(read_priority="tiered-storage-first").local_first


def test_without_a_driver_nothing_is_offloaded():
    OffloadPolicies().check()
    assert OffloadPolicies(file_uri="/srv").location() is None


def test_a_level_says_what_the_one_below_leaves_open():
    broker = Policies(offload=OffloadPolicies(driver="filesystem", file_uri="/a", threshold_s=9))
    topic = Policies(offload=OffloadPolicies(file_uri="/b", threshold_bytes=0))
    levels = [Combined.of(Level.BROKER, broker), Combined.of(Level.TOPIC, topic)]
    found = combine(*levels).policies.offload
    assert found == OffloadPolicies(
        driver="filesystem", file_uri="/b", threshold_s=9, threshold_bytes=0
    )
    assert topic.offload.over(None) == topic.offload


def test_the_names_in_json_are_pulsars():
    sent = {
        "managedLedgerOffloadDriver": "filesystem",
        "fileSystemURI": "/srv",
        "managedLedgerOffloadMaxThreads": 2,
        "managedLedgerExtraConfigurations": {"a": "b"},
    }
    assert to_json(from_json(OffloadPolicies, sent, "offloadPolicies")) == sent
