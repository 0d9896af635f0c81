"""Our errors as the results and exceptions of ``pulsar-client``: one table."""

import re
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from magnetar import errors

from . import exceptions
from .enums import Result
from .settings import CLIENT, CONSUMER, PRODUCER

P = ParamSpec("P")
T = TypeVar("T")

# A class answers for its subclasses, unless they are named too.
_RESULTS: Final[dict[type[errors.MagnetarError], Result]] = {
    errors.MagnetarError: Result.UnknownError,
    errors.ProtocolError: Result.ReadError,
    errors.ChecksumMismatch: Result.ChecksumError,
    errors.UndecodableValue: Result.InvalidMessage,
    errors.AccessError: Result.AuthorizationError,
    errors.NotAuthenticated: Result.AuthenticationError,
    errors.NotFound: Result.TopicNotFound,
    errors.SubscriptionNotFound: Result.SubscriptionNotFound,
    errors.ConsumerNotFound: Result.ConsumerNotFound,
    errors.TransactionNotFound: Result.TransactionNotFound,
    errors.Conflict: Result.NotAllowedError,
    errors.ProducerBusy: Result.ProducerBusy,
    errors.ProducerFenced: Result.ProducerFenced,
    errors.ConsumerBusy: Result.ConsumerBusy,
    errors.ConsumerAssignFailed: Result.ConsumerAssignError,
    errors.TransactionConflict: Result.TransactionConflict,
    errors.IncompatibleSchema: Result.IncompatibleSchema,
    errors.Refused: Result.NotAllowedError,
    errors.InvalidName: Result.InvalidTopicName,
    errors.InvalidValue: Result.InvalidConfiguration,
    errors.NotOfConsumer: Result.OperationNotSupported,
    errors.AlreadyClosed: Result.AlreadyClosed,
    errors.MessageTooLarge: Result.MessageTooBig,
    errors.TopicTerminated: Result.TopicTerminated,
    errors.CryptoFailed: Result.CryptoError,
    errors.InvalidTxnStatus: Result.InvalidTxnStatusError,
    errors.TransactionAborted: Result.InvalidTxnStatusError,
    errors.BacklogQuotaExceeded: Result.ProducerBlockedQuotaExceededException,
    errors.BacklogQuotaHeld: Result.ProducerBlockedQuotaExceededError,
    errors.Unavailable: Result.ServiceUnitNotReady,
    errors.CoordinatorNotFound: Result.TransactionCoordinatorNotFoundError,
    errors.QueueFull: Result.ProducerQueueIsFull,
    errors.MemoryFull: Result.MemoryBufferIsFull,
    errors.ConnectionLost: Result.ConnectError,
    errors.TimedOut: Result.Timeout,
    errors.NotStored: Result.Timeout,
    errors.StorageError: Result.BrokerPersistenceError,
}

# What their arguments are called that have another name with us, and what ours is multiplied by.
# Names that are words of their own, as "type", are left alone.
_ARGUMENTS: Final = {
    row.ours: (theirs, row.factor)
    for rows in (CLIENT, PRODUCER, CONSUMER)
    for theirs, row in rows.items()
    if "_" in row.ours and row.ours != theirs
} | {
    "key": ("partition_key", 1),
    "event_time_ms": ("event_timestamp", 1),
    "deliver_at_ms": ("deliver_at", 1),
    "deliver_after_s": ("deliver_after", 1),
    "publish_time_ms": ("messageid", 1),
    "AuthenticationTls": ("AuthenticationTLS", 1),
}
_OURS: Final = re.compile(
    rf"\b({'|'.join(_ARGUMENTS)})(?= is | has | must | and | go | say | needs )( is -?[\d.]+)?"
)

# What ``pulsar-client`` prints where it is not the name.
_PRINTED: Final = {
    Result.Timeout: "TimeOut",
    Result.Interrupted: "ResultInterrupted",
    Result.CumulativeAcknowledgementNotAllowedError: (
        "ResultCumulativeAcknowledgementNotAllowedError"
    ),
}


def result_of(error: BaseException) -> Result:
    """The result that stands for an error of ours; UnknownError for any other."""
    return next(
        (_RESULTS[kind] for kind in type(error).__mro__ if kind in _RESULTS), Result.UnknownError
    )


def _named_as_theirs(match: re.Match[str]) -> str:
    name, factor = _ARGUMENTS[match[1]]
    return name if match[2] is None else f"{name} is {float(match[2][4:]) * factor:g}"


def exception(result: Result, reason: object = "") -> exceptions.PulsarException:
    """The exception of a result, to be raised. Its text begins as theirs, and gives the reason."""
    kind: type[exceptions.PulsarException] = getattr(exceptions, result.name)
    text = f"Pulsar error: {_PRINTED.get(result, result.name)}"
    if isinstance(reason, errors.InvalidValue):
        reason = _OURS.sub(_named_as_theirs, str(reason))
    return kind(f"{text}: {reason}" if str(reason) else text)


def raises_theirs(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function that calls our client raise exceptions of ``pulsar-client``."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except errors.MagnetarError as error:
            raise exception(result_of(error), error) from error
        except KeyboardInterrupt as interruption:
            raise exception(Result.Interrupted) from interruption

    return wrapper
