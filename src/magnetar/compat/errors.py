"""Our errors as the results and exceptions of ``pulsar-client``: one table."""

from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from magnetar import errors

from . import exceptions
from .enums import Result

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
    errors.Conflict: Result.NotAllowedError,
    errors.ProducerBusy: Result.ProducerBusy,
    errors.ProducerFenced: Result.ProducerFenced,
    errors.ConsumerBusy: Result.ConsumerBusy,
    errors.ConsumerAssignFailed: Result.ConsumerAssignError,
    errors.IncompatibleSchema: Result.IncompatibleSchema,
    errors.Refused: Result.NotAllowedError,
    errors.InvalidName: Result.InvalidTopicName,
    errors.InvalidValue: Result.InvalidConfiguration,
    errors.AlreadyClosed: Result.AlreadyClosed,
    errors.MessageTooLarge: Result.MessageTooBig,
    errors.TopicTerminated: Result.TopicTerminated,
    errors.CryptoFailed: Result.CryptoError,
    errors.BacklogQuotaExceeded: Result.ProducerBlockedQuotaExceededException,
    errors.BacklogQuotaHeld: Result.ProducerBlockedQuotaExceededError,
    errors.Unavailable: Result.ServiceUnitNotReady,
    errors.QueueFull: Result.ProducerQueueIsFull,
    errors.MemoryFull: Result.MemoryBufferIsFull,
    errors.ConnectionLost: Result.ConnectError,
    errors.TimedOut: Result.Timeout,
    errors.StorageError: Result.BrokerPersistenceError,
}

# What ``pulsar-client`` prints where it is not the name.
_PRINTED: Final = {
    Result.Timeout: "TimeOut",
    Result.CumulativeAcknowledgementNotAllowedError: (
        "ResultCumulativeAcknowledgementNotAllowedError"
    ),
}


def result_of(error: BaseException) -> Result:
    """The result that stands for an error of ours; UnknownError for any other."""
    return next(
        (_RESULTS[kind] for kind in type(error).__mro__ if kind in _RESULTS), Result.UnknownError
    )


def exception(result: Result, reason: object = "") -> exceptions.PulsarException:
    """The exception of a result, to be raised. Its text begins as theirs, and gives the reason."""
    kind: type[exceptions.PulsarException] = getattr(exceptions, result.name)
    text = f"Pulsar error: {_PRINTED.get(result, result.name)}"
    return kind(f"{text}: {reason}" if str(reason) else text)


def raises_theirs(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function that calls our client raise exceptions of ``pulsar-client``."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except errors.MagnetarError as error:
            raise exception(result_of(error), error) from error

    return wrapper
