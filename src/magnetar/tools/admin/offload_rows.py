"""The options that say where and when ledgers are offloaded: three verbs, and three spellings."""

from typing import Final

from .kinds import BYTES, INTEGER, MILLIS, SECONDS, TEXT, Kind, choice
from .verb import Param, need, opt

_PRIORITY: Final = choice("tiered-storage-first", "bookkeeper-first")
# The option, the end of the keys that it sets, and what it says. Keys of drivers have a prefix.
_PLACE: Final = (
    need("-d --driver", "driver", TEXT, "aws-s3, google-cloud-storage, azureblob, filesystem ..."),
    opt("-r --region", "Region", TEXT, "The region."),
    opt("-b --bucket", "Bucket", TEXT, "The bucket."),
    opt("-e --endpoint", "ServiceEndpoint", TEXT, "Another URL of the service."),
    opt("-i --aws-id", "CredentialId", TEXT, "The id of credentials for S3."),
    opt("-s --aws-secret", "CredentialSecret", TEXT, "Their secret."),
    opt("-rsn --s3-role-session-name", "RoleSessionName", TEXT, "The session of the role."),
    opt(
        "-orp --offloadedReadPriority",
        "OffloadedReadPriority",
        _PRIORITY,
        "tiered-storage-first or bookkeeper-first.",
    ),
)


def _rest(role: str, names: tuple[str, ...], size: Kind, age: Kind, lag: Kind) -> tuple[Param, ...]:
    block, buffer, threshold, seconds, deletion = names
    return (
        *_PLACE,
        opt(role, "Role", TEXT, "A role to take for S3."),
        opt(block, "MaxBlockSizeInBytes", size, "The largest block."),
        opt(buffer, "ReadBufferSizeInBytes", size, "What is read at once."),
        opt(threshold, "OffloadThresholdInBytes", size, "Offload above this size."),
        opt(seconds, "OffloadThresholdInSeconds", age, "Offload what is older."),
        opt(deletion, "OffloadDeletionLagInMillis", lag, "Delete what was offloaded after this."),
    )


_TOPICS: Final = (
    "-m --maxBlockSizeInBytes",
    "-rb --readBufferSizeInBytes",
    "-t --offloadThresholdInBytes",
    "-ts --offloadThresholdInSeconds",
    "-dl --offloadDeletionLagInMillis",
)
_NAMESPACES: Final = (
    "-mbs --maxBlockSize",
    "-rbs --readBufferSize",
    "-oat --offloadAfterThreshold",
    "-oats --offloadAfterThresholdInSeconds",
    "-oae --offloadAfterElapsed",
)
_BOTH: Final = tuple(f"{one} {other}" for one, other in zip(_TOPICS, _NAMESPACES, strict=True))

OF_TOPICS: Final = _rest("-ro --ro --s3-role", _TOPICS, INTEGER, INTEGER, INTEGER)
OF_NAMESPACES: Final = _rest("-ro --s3-role", _NAMESPACES, BYTES, SECONDS, MILLIS)
OLDER: Final = _rest("-ro --ro --s3-role", _BOTH, BYTES, SECONDS, MILLIS)
"""Of ``topics set-offload-policies``: sizes and times."""
