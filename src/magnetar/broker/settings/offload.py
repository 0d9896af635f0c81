"""The settings of a broker that say when ledgers are offloaded, and to where."""

from typing import Literal

from magnetar.late_dataclass import dataclass
from magnetar.model.offload_policies import DELETION_LAG_MS, OffloadPolicies

from .setting import setting

Driver = Literal["", "filesystem", "aws-s3", "S3", "google-cloud-storage", "azureblob"]
ReadPriority = Literal["tiered-storage-first", "bookkeeper-first"]


@dataclass(frozen=True, slots=True)
class OffloadSettings:
    """What holds where neither a namespace nor a topic says otherwise."""

    driver: Driver = setting(
        "managedLedgerOffloadDriver",
        "",
        "what ledgers are offloaded to: filesystem, aws-s3 or S3, google-cloud-storage, azureblob; "
        "when absent, nothing is offloaded unless a namespace or a topic says so",
    )
    threshold_bytes: int = setting(
        "managedLedgerOffloadAutoTriggerSizeThresholdBytes",
        -1,
        "bytes of a topic's newest ledgers that stay here, older ones are offloaded; -1 is all",
        minimum=-1,
    )
    threshold_s: int = setting(
        "managedLedgerOffloadThresholdInSeconds",
        -1,
        "a ledger that took its last entry so long ago is offloaded; -1 is never",
        minimum=-1,
    )
    deletion_lag_ms: int = setting(
        "managedLedgerOffloadDeletionLagMs",
        DELETION_LAG_MS,
        "how long an offloaded ledger stays here as well",
    )
    read_priority: ReadPriority = setting(
        "managedLedgerDataReadPriority",
        "tiered-storage-first",
        "where a ledger is read that is here and offloaded; bookkeeper-first is here",
    )
    file_uri: str = setting("fileSystemURI", "", "filesystem: the folder, file:///srv/tiered")
    bucket: str = setting(
        "managedLedgerOffloadBucket", "", "the bucket, where the driver's own key says none"
    )
    s3_bucket: str = setting("s3ManagedLedgerOffloadBucket", "", "aws-s3 and S3: the bucket")
    s3_region: str = setting("s3ManagedLedgerOffloadRegion", "", "aws-s3 and S3: its region")
    s3_endpoint: str = setting(
        "s3ManagedLedgerOffloadServiceEndpoint", "", "aws-s3 and S3: the URL, if not Amazon's own"
    )
    gcs_bucket: str = setting("gcsManagedLedgerOffloadBucket", "", "google-cloud-storage: bucket")
    gcs_key_file: str = setting(
        "gcsManagedLedgerOffloadServiceAccountKeyFile",
        "",
        "google-cloud-storage: the file of the service account; when absent, the environment's",
    )
    buckets_of_tenants: bool = setting(
        "allowOffloadBucketsByTenantAdmins",
        False,
        "a tenant's admins may set offloadPolicies to any bucket, which the broker writes to, by "
        "default with its own credentials; folders and key files stay superusers'",
    )

    def policies(self) -> OffloadPolicies | None:
        """The policies of the broker; None where nothing is set. Raises InvalidValue."""
        found = OffloadPolicies(
            driver=self.driver or None,
            threshold_bytes=self.threshold_bytes if self.threshold_bytes >= 0 else None,
            threshold_s=self.threshold_s if self.threshold_s >= 0 else None,
            deletion_lag_ms=self.deletion_lag_ms,
            read_priority=self.read_priority,
            bucket=self.bucket or None,
            s3_bucket=self.s3_bucket or None,
            s3_region=self.s3_region or None,
            s3_endpoint=self.s3_endpoint or None,
            gcs_bucket=self.gcs_bucket or None,
            gcs_key_file=self.gcs_key_file or None,
            file_uri=self.file_uri or None,
        )
        found.check()
        return found
