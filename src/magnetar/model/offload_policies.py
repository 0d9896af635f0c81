"""When ledgers are offloaded, and to where: Pulsar's policies, level by level. Pure."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Final, NamedTuple
from urllib.parse import urlsplit

from magnetar.errors import InvalidValue
from magnetar.late_dataclass import dataclass

DELETION_LAG_MS: Final = 4 * 3600 * 1000
"""How long an offloaded ledger stays here by default: Pulsar's."""

S3: Final = ("S3", "aws-s3")
GCS: Final = "google-cloud-storage"
FILES: Final = "filesystem"
_AZURE: Final = "azureblob"
DRIVERS: Final = (*S3, GCS, FILES, _AZURE)
_PRIORITIES: Final = ("tiered-storage-first", "bookkeeper-first")


class OffloadLocation(NamedTuple):
    """Where copies go. Options and secrets are obstore's, by its names."""

    driver: str
    url: str
    options: Mapping[str, str]
    secrets: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OffloadPolicies:
    """What one level says, or several together; the names in JSON are Pulsar's."""

    driver: Annotated[str | None, "managedLedgerOffloadDriver"] = None
    threshold_bytes: Annotated[int | None, "managedLedgerOffloadThresholdInBytes"] = None
    threshold_s: Annotated[int | None, "managedLedgerOffloadThresholdInSeconds"] = None
    deletion_lag_ms: Annotated[int | None, "managedLedgerOffloadDeletionLagInMillis"] = None
    read_priority: Annotated[str | None, "managedLedgerOffloadedReadPriority"] = None
    bucket: Annotated[str | None, "managedLedgerOffloadBucket"] = None
    region: Annotated[str | None, "managedLedgerOffloadRegion"] = None
    endpoint: Annotated[str | None, "managedLedgerOffloadServiceEndpoint"] = None
    s3_bucket: Annotated[str | None, "s3ManagedLedgerOffloadBucket"] = None
    s3_region: Annotated[str | None, "s3ManagedLedgerOffloadRegion"] = None
    s3_endpoint: Annotated[str | None, "s3ManagedLedgerOffloadServiceEndpoint"] = None
    s3_key_id: Annotated[str | None, "s3ManagedLedgerOffloadCredentialId"] = None
    s3_secret: Annotated[str | None, "s3ManagedLedgerOffloadCredentialSecret"] = None
    s3_role: Annotated[str | None, "s3ManagedLedgerOffloadRole"] = None
    s3_role_session: Annotated[str | None, "s3ManagedLedgerOffloadRoleSessionName"] = None
    gcs_bucket: Annotated[str | None, "gcsManagedLedgerOffloadBucket"] = None
    gcs_region: Annotated[str | None, "gcsManagedLedgerOffloadRegion"] = None
    gcs_key_file: Annotated[str | None, "gcsManagedLedgerOffloadServiceAccountKeyFile"] = None
    file_uri: Annotated[str | None, "fileSystemURI"] = None
    # Of how Pulsar does it; they are kept, and have no effect.
    file_profile: Annotated[str | None, "fileSystemProfilePath"] = None
    directory: Annotated[str | None, "offloadersDirectory"] = None
    threads: Annotated[int | None, "managedLedgerOffloadMaxThreads"] = None
    read_threads: Annotated[int | None, "managedLedgerOffloadReadThreads"] = None
    prefetch_rounds: Annotated[int | None, "managedLedgerOffloadPrefetchRounds"] = None
    block_bytes: Annotated[int | None, "managedLedgerOffloadMaxBlockSizeInBytes"] = None
    buffer_bytes: Annotated[int | None, "managedLedgerOffloadReadBufferSizeInBytes"] = None
    s3_block_bytes: Annotated[int | None, "s3ManagedLedgerOffloadMaxBlockSizeInBytes"] = None
    s3_buffer_bytes: Annotated[int | None, "s3ManagedLedgerOffloadReadBufferSizeInBytes"] = None
    gcs_block_bytes: Annotated[int | None, "gcsManagedLedgerOffloadMaxBlockSizeInBytes"] = None
    gcs_buffer_bytes: Annotated[int | None, "gcsManagedLedgerOffloadReadBufferSizeInBytes"] = None
    extra: Annotated[Mapping[str, str] | None, "managedLedgerExtraConfigurations"] = None
    metadata: Annotated[Mapping[str, str] | None, "managedLedgerOffloadDriverMetadata"] = None

    def check(self) -> None:
        """Raises InvalidValue, in Pulsar's words where it refuses the same."""
        if self.driver is not None and self.driver not in DRIVERS:
            raise InvalidValue(f"The driver is not supported, support value: {','.join(DRIVERS)}")
        self.location()
        if self.read_priority is not None and _word(self.read_priority) not in _PRIORITIES:
            raise InvalidValue(
                f"managedLedgerOffloadedReadPriority is one of {', '.join(_PRIORITIES)}, "
                f"not {self.read_priority}"
            )

    def over(self, lower: "OffloadPolicies | None") -> "OffloadPolicies":
        """Combine with those of a lower level, which decide what these leave open."""
        if lower is None:
            return self
        return OffloadPolicies(
            **{
                each.name: getattr(lower, each.name) if own is None else own
                for each in fields(self)
                for own in (getattr(self, each.name),)
            }
        )

    def leads_beyond(self, known: "OffloadPolicies | None", *, buckets: bool = False) -> bool:
        """Whether it names a place, or who is to be there, other than what is known.

        ``buckets``: any bucket counts as known, and what is on the broker's machine does not.
        """
        here = known or OffloadPolicies()
        names = _OF_MACHINE if buckets and self.driver != FILES else _OF_PLACES
        asked = ((getattr(self, name), getattr(here, name)) for name in names)
        return any(bool(value) and value != there for value, there in asked)

    @property
    def local_first(self) -> bool:
        """Whether a ledger that is here as well is read here."""
        return _word(self.read_priority or "") == "bookkeeper-first"

    def location(self) -> OffloadLocation | None:
        """Where copies go; None: nothing is offloaded. Raises InvalidValue."""
        if not self.driver:
            return None
        if self.driver == FILES:
            return OffloadLocation(self.driver, _folder(self.file_uri), {}, {})
        if self.driver in S3:
            bucket = self.s3_bucket or self.bucket
            options = {
                "region": self.s3_region or self.region or "",
                "endpoint": self.s3_endpoint or self.endpoint or "",
                "role_arn": self.s3_role or "",
                "role_session_name": self.s3_role_session or "",
            }
            secrets = {
                "access_key_id": self.s3_key_id or "",
                "secret_access_key": self.s3_secret or "",
            }
            return _bucket(self.driver, "s3", bucket, options, secrets)
        if self.driver == GCS:
            secrets = {"service_account": self.gcs_key_file or ""}
            return _bucket(self.driver, "gs", self.gcs_bucket or self.bucket, {}, secrets)
        options = {"endpoint": self.endpoint or ""}
        return _bucket(self.driver, "az", self.bucket, options, {})


_OF_MACHINE: Final = ("file_uri", "gcs_key_file")
_OF_PLACES: Final = (
    *_OF_MACHINE,
    *("driver", "bucket", "region", "endpoint"),
    *("gcs_bucket", "gcs_region"),
    *("s3_bucket", "s3_region", "s3_endpoint", "s3_key_id", "s3_secret"),
    *("s3_role", "s3_role_session"),
)


def _word(priority: str) -> str:
    """As it is written in a file; in JSON clients also write BOOKKEEPER_FIRST."""
    return priority.lower().replace("_", "-")


def _folder(uri: str | None) -> str:
    parts = urlsplit(uri or "")
    if parts.scheme not in {"", "file"} or parts.netloc or not parts.path.startswith("/"):
        raise InvalidValue(
            f"fileSystemURI={uri!r}: use file:///folder, a folder on the broker's own machine"
        )
    return f"file://{parts.path}"


def _bucket(
    driver: str,
    scheme: str,
    bucket: str | None,
    options: Mapping[str, str],
    secrets: Mapping[str, str],
) -> OffloadLocation:
    if not bucket:
        raise InvalidValue("The bucket must be specified for namespace offload.")
    given = {name: value for name, value in options.items() if value}
    kept = {name: value for name, value in secrets.items() if value}
    return OffloadLocation(driver, f"{scheme}://{bucket}", given, kept)
