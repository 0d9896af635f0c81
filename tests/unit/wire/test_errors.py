"""wire/errors.py: our errors as codes and back. That both tables are total: tests/architecture."""

import pytest

from magnetar import errors
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.errors import from_code, to_code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.NamespaceNotFound, pb.TopicNotFound),
        (errors.ConsumerNotFound, pb.MetadataError),
        (errors.SubscriptionNotFound, pb.SubscriptionNotFound),
        (errors.NotOwner, pb.ServiceNotReady),
        (errors.Fenced, pb.ServiceNotReady),
        (errors.InvalidName, pb.InvalidTopicName),
        (errors.MessageTooLarge, pb.NotAllowedError),
        (errors.AlreadyExists, pb.NotAllowedError),
        (errors.WriteFailed, pb.PersistenceError),
        (errors.ChecksumMismatch, pb.ChecksumError),
        (errors.MalformedFrame, pb.UnknownError),
    ],
)
def test_an_error_is_told_as_pulsar_tells_it(error, code):
    assert to_code(error("text")) == code


@pytest.mark.parametrize(
    "code",
    [
        pb.UnknownError,
        pb.MetadataError,
        pb.PersistenceError,
        pb.ServiceNotReady,
        pb.ProducerBlockedQuotaExceededError,  # By Java's; that of C++ when it was there before.
    ],
    ids=pb.ServerError.Name,
)
def test_what_official_clients_try_again_we_try_again(code):
    error = from_code(code, "")
    assert error.retriable or isinstance(error, errors.UnknownFailure)


@pytest.mark.parametrize(
    "code",
    [
        pb.AuthenticationError,
        pb.AuthorizationError,
        pb.IncompatibleSchema,
        pb.TopicNotFound,
        pb.TopicTerminatedError,
        pb.NotAllowedError,
        pb.ChecksumError,
        pb.ConsumerAssignError,
        pb.ProducerBusy,
        pb.ConsumerBusy,
        pb.TooManyRequests,
        pb.ProducerBlockedQuotaExceededException,
    ],
    ids=pb.ServerError.Name,
)
def test_what_official_clients_give_up_we_give_up(code):
    assert not from_code(code, "text").retriable


def test_an_error_without_text_names_its_code():
    assert str(from_code(pb.TopicNotFound, "")) == "TopicNotFound"
    assert str(from_code(pb.TopicNotFound, "gone")) == "gone"


def test_a_code_from_the_future_keeps_its_number_and_text():
    error = from_code(99, "text")
    assert isinstance(error, errors.UnknownFailure)
    assert str(error) == "error code 99: text"
