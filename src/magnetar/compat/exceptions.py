"""The exceptions of ``pulsar-client``: one for each ``Result`` but Ok, below PulsarException.

``errors.py`` says which of our errors becomes which.
"""


class PulsarException(Exception):
    """The root. What our client raised is its ``__cause__``, if there was anything."""


class UnknownError(PulsarException):
    """An error that has no name of its own."""


class InvalidConfiguration(PulsarException):
    """Settings that do not go together."""


class Timeout(PulsarException):
    """Nothing came, or was answered, in time."""


class LookupError(PulsarException):
    """The broker of a topic could not be found."""


class ConnectError(PulsarException):
    """A broker could not be reached."""


class ReadError(PulsarException):
    """A connection could not be read."""


class AuthenticationError(PulsarException):
    """The broker does not accept who the client says it is."""


class AuthorizationError(PulsarException):
    """The client lacks the permission."""


class ErrorGettingAuthenticationData(PulsarException):
    """The credentials could not be had."""


class BrokerMetadataError(PulsarException):
    """The broker could not read or write its metadata."""


class BrokerPersistenceError(PulsarException):
    """The broker could not store it."""


class ChecksumError(PulsarException):
    """The bytes that arrived are not those that were sent."""


class ConsumerBusy(PulsarException):
    """Another consumer has the subscription."""


class NotConnected(PulsarException):
    """There is no connection to the broker."""


class AlreadyClosed(PulsarException):
    """The client, producer, consumer or reader is closed."""


class InvalidMessage(PulsarException):
    """A message that cannot be sent or acknowledged."""


class ConsumerNotInitialized(PulsarException):
    """The consumer was not made by a client."""


class ProducerNotInitialized(PulsarException):
    """The producer was not made by a client."""


class ProducerBusy(PulsarException):
    """Another producer has the name or the topic."""


class TooManyLookupRequestException(PulsarException):
    """The broker has too many lookups to answer."""


class InvalidTopicName(PulsarException):
    """A name that breaks the rules for topics."""


class InvalidUrl(PulsarException):
    """A service URL that is none."""


class ServiceUnitNotReady(PulsarException):
    """The broker cannot serve the topic now."""


class OperationNotSupported(PulsarException):
    """Not possible with this object."""


class ProducerBlockedQuotaExceededError(PulsarException):
    """The topic's backlog is full: producers are held back."""


class ProducerBlockedQuotaExceededException(PulsarException):
    """The topic's backlog is full: producers are refused."""


class ProducerQueueIsFull(PulsarException):
    """As many messages as allowed are without a receipt."""


class MessageTooBig(PulsarException):
    """A message beyond the broker's maximum."""


class TopicNotFound(PulsarException):
    """The topic, its namespace or its tenant does not exist."""


class SubscriptionNotFound(PulsarException):
    """The subscription does not exist."""


class ConsumerNotFound(PulsarException):
    """The broker does not know the consumer."""


class UnsupportedVersionError(PulsarException):
    """The broker is too old for the request."""


class TopicTerminated(PulsarException):
    """The topic takes no more messages."""


class CryptoError(PulsarException):
    """A message could not be encrypted or decrypted."""


class IncompatibleSchema(PulsarException):
    """A schema that does not go with the topic's."""


class ConsumerAssignError(PulsarException):
    """Hash ranges that cannot be given to a consumer."""


class CumulativeAcknowledgementNotAllowedError(PulsarException):
    """Only Exclusive and Failover consumers may do that."""


class TransactionCoordinatorNotFoundError(PulsarException):
    """The broker has no transactions."""


class InvalidTxnStatusError(PulsarException):
    """The transaction is not in a state for it."""


class NotAllowedError(PulsarException):
    """The broker refuses it, as things are."""


class TransactionConflict(PulsarException):
    """Another transaction has the message."""


class TransactionNotFound(PulsarException):
    """The transaction does not exist."""


class ProducerFenced(PulsarException):
    """Another producer took the topic."""


class MemoryBufferIsFull(PulsarException):
    """The messages that wait take as much memory as allowed."""


class Interrupted(PulsarException):
    """The call was interrupted."""
