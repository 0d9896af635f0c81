"""Each of our errors becomes an exception of theirs."""

import pytest

from magnetar import compat, errors
from magnetar.compat.enums import Result
from magnetar.compat.errors import exception, raises_theirs, result_of


@pytest.mark.parametrize(
    ("ours", "result"),
    [
        (errors.TimedOut, "Timeout"),
        (errors.TopicNotFound, "TopicNotFound"),
        (errors.NamespaceNotFound, "TopicNotFound"),
        (errors.ProducerBusy, "ProducerBusy"),
        (errors.ConsumerBusy, "ConsumerBusy"),
        (errors.MessageTooLarge, "MessageTooBig"),
        (errors.NotAuthorized, "AuthorizationError"),
        (errors.NotAuthenticated, "AuthenticationError"),
        (errors.ConnectionLost, "ConnectError"),
        (errors.InvalidSchema, "IncompatibleSchema"),
        (errors.BacklogQuotaHeld, "ProducerBlockedQuotaExceededError"),
        (errors.QueueFull, "ProducerQueueIsFull"),
        (errors.MemoryFull, "MemoryBufferIsFull"),
        (errors.AlreadyClosed, "AlreadyClosed"),
        (errors.CryptoFailed, "CryptoError"),
        (errors.UnknownFailure, "UnknownError"),
        (KeyError, "UnknownError"),
    ],
)
def test_an_error_has_its_result(ours, result):
    assert result_of(ours("why")).name == result


def test_every_error_of_ours_has_a_result():
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.MagnetarError):
            assert isinstance(result_of(kind("why")), Result)


def test_a_call_raises_their_exception_caused_by_ours():
    @raises_theirs
    def call():
        raise errors.TimedOut("no answer")

    with pytest.raises(compat.Timeout, match=r"^Pulsar error: TimeOut: no answer$") as raised:
        call()
    assert isinstance(raised.value.__cause__, errors.TimedOut)
    assert call.__name__ == "call"


def test_an_exception_without_a_reason_prints_as_theirs():
    assert str(exception(Result.AlreadyClosed)) == "Pulsar error: AlreadyClosed"


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("send_timeout_s is -0.001; it may not be negative", "send_timeout_millis is -1; it may"),
        ("batch_bytes_max is 0; it must be", "batching_max_allowed_size_in_bytes is 0; it must"),
        ("ack_timeout_s is -1; it may not", "unacked_messages_timeout_ms is -1000; it may not"),
        ("listener_threads is 0; it must be", "message_listener_threads is 0; it must be"),
        ("key must be str", "partition_key must be str"),
        ("keys are not the key of it", "keys are not the key of it"),
        ("tls_key_file is set, but", "tls_private_key_file_path is set, but"),
    ],
)
def test_an_argument_is_called_as_theirs_is(ours, theirs):
    assert theirs in str(exception(Result.InvalidConfiguration, errors.InvalidValue(ours)))
