"""Our errors as the protocol's codes, and back; total both ways. Pure."""

from magnetar import errors
from magnetar.proto import PulsarApi_pb2 as pb

# A class answers for its subclasses, unless they are named too.
_CODES: dict[type[errors.MagnetarError], pb.ServerError] = {
    errors.MagnetarError: pb.UnknownError,
    errors.ChecksumMismatch: pb.ChecksumError,
    errors.AccessError: pb.AuthorizationError,
    errors.NotAuthenticated: pb.AuthenticationError,
    errors.NotFound: pb.TopicNotFound,
    errors.SubscriptionNotFound: pb.SubscriptionNotFound,
    # Pulsar has a code for it, but answers UNSUBSCRIBE and SEEK with this one.
    errors.ConsumerNotFound: pb.MetadataError,
    errors.TransactionNotFound: pb.TransactionNotFound,
    errors.Conflict: pb.NotAllowedError,
    errors.ProducerBusy: pb.ProducerBusy,
    errors.ProducerFenced: pb.ProducerFenced,
    errors.ConsumerBusy: pb.ConsumerBusy,
    errors.ConsumerAssignFailed: pb.ConsumerAssignError,
    errors.TransactionConflict: pb.TransactionConflict,
    errors.InvalidTxnStatus: pb.InvalidTxnStatus,
    errors.IncompatibleSchema: pb.IncompatibleSchema,
    errors.Refused: pb.NotAllowedError,
    errors.InvalidName: pb.InvalidTopicName,
    errors.InvalidValue: pb.MetadataError,
    errors.TopicTerminated: pb.TopicTerminatedError,
    errors.BacklogQuotaExceeded: pb.ProducerBlockedQuotaExceededException,
    errors.BacklogQuotaHeld: pb.ProducerBlockedQuotaExceededError,
    errors.Unavailable: pb.ServiceNotReady,
    errors.CoordinatorNotFound: pb.TransactionCoordinatorNotFound,
    errors.StorageError: pb.PersistenceError,
    errors.MetadataLost: pb.ServiceNotReady,
    errors.VersionMismatch: pb.MetadataError,
}

# What a client makes of a code. Retriable are those that official clients try again.
_ERRORS: dict[int, type[errors.MagnetarError]] = {
    pb.UnknownError: errors.UnknownFailure,
    pb.MetadataError: errors.NotReady,
    pb.PersistenceError: errors.WriteFailed,
    pb.AuthenticationError: errors.NotAuthenticated,
    pb.AuthorizationError: errors.NotAuthorized,
    pb.ConsumerBusy: errors.ConsumerBusy,
    pb.ServiceNotReady: errors.NotReady,
    pb.ProducerBlockedQuotaExceededError: errors.BacklogQuotaHeld,
    pb.ProducerBlockedQuotaExceededException: errors.BacklogQuotaExceeded,
    pb.ChecksumError: errors.ChecksumMismatch,
    pb.UnsupportedVersionError: errors.NotAllowed,
    pb.TopicNotFound: errors.TopicNotFound,
    pb.SubscriptionNotFound: errors.SubscriptionNotFound,
    pb.ConsumerNotFound: errors.ConsumerNotFound,
    pb.TooManyRequests: errors.Refused,
    pb.TopicTerminatedError: errors.TopicTerminated,
    pb.ProducerBusy: errors.ProducerBusy,
    pb.InvalidTopicName: errors.InvalidName,
    pb.IncompatibleSchema: errors.IncompatibleSchema,
    pb.ConsumerAssignError: errors.ConsumerAssignFailed,
    pb.TransactionCoordinatorNotFound: errors.CoordinatorNotFound,
    pb.InvalidTxnStatus: errors.InvalidTxnStatus,
    pb.NotAllowedError: errors.NotAllowed,
    pb.TransactionConflict: errors.TransactionConflict,
    pb.TransactionNotFound: errors.TransactionNotFound,
    pb.ProducerFenced: errors.ProducerFenced,
}


# Of all that MetadataError stands for, what will not pass: Pulsar has no code of its own for it.
_UNENCRYPTED = ("Encryption is required", "Messages must be encrypted")


def to_code(error: errors.MagnetarError) -> pb.ServerError:
    """The code a peer is told."""
    return next(_CODES[kind] for kind in type(error).__mro__ if kind in _CODES)


def from_code(code: int, message: str) -> errors.MagnetarError:
    """The error a peer's code stands for, to be raised; an unknown code is an UnknownFailure."""
    if code == pb.MetadataError and any(text in message for text in _UNENCRYPTED):
        return errors.CryptoFailed(f"{message}: make the producer with encryption_keys")
    if code not in _ERRORS:
        return errors.UnknownFailure(f"error code {code}: {message}")
    return _ERRORS[code](message or pb.ServerError.Name(pb.ServerError.ValueType(code)))
