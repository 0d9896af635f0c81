"""The enumerations of ``pulsar-client``: names, values, and what they are to our client. Pure.

A member is equal to no number, as theirs, but ``int(member)`` is its number.
"""

from enum import Enum


class Enumeration(Enum):
    """A member has a name and a number; it is not the number."""

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return int(self.value)


class Result(Enumeration):
    """What became of a request: what the callback of ``send_async`` is told."""

    Ok = 0
    UnknownError = 1
    InvalidConfiguration = 2
    Timeout = 3
    LookupError = 4
    ConnectError = 5
    ReadError = 6
    AuthenticationError = 7
    AuthorizationError = 8
    ErrorGettingAuthenticationData = 9
    BrokerMetadataError = 10
    BrokerPersistenceError = 11
    ChecksumError = 12
    ConsumerBusy = 13
    NotConnected = 14
    AlreadyClosed = 15
    InvalidMessage = 16
    ConsumerNotInitialized = 17
    ProducerNotInitialized = 18
    ProducerBusy = 19
    TooManyLookupRequestException = 20
    InvalidTopicName = 21
    InvalidUrl = 22
    ServiceUnitNotReady = 23
    OperationNotSupported = 24
    ProducerBlockedQuotaExceededError = 25
    ProducerBlockedQuotaExceededException = 26
    ProducerQueueIsFull = 27
    MessageTooBig = 28
    TopicNotFound = 29
    SubscriptionNotFound = 30
    ConsumerNotFound = 31
    UnsupportedVersionError = 32
    TopicTerminated = 33
    CryptoError = 34
    IncompatibleSchema = 35
    ConsumerAssignError = 36
    CumulativeAcknowledgementNotAllowedError = 37
    TransactionCoordinatorNotFoundError = 38
    InvalidTxnStatusError = 39
    NotAllowedError = 40
    TransactionConflict = 41
    TransactionNotFound = 42
    ProducerFenced = 43
    MemoryBufferIsFull = 44
    Interrupted = 45


class CompressionType(Enumeration):
    """How a producer compresses."""

    NONE = 0
    LZ4 = 1
    ZLib = 2
    ZSTD = 3
    SNAPPY = 4


class ConsumerType(Enumeration):
    """How a subscription shares its messages among consumers."""

    Exclusive = 0
    Shared = 1
    Failover = 2
    KeyShared = 3


class InitialPosition(Enumeration):
    """Where a new subscription begins."""

    Latest = 0
    Earliest = 1


class PartitionsRoutingMode(Enumeration):
    """The partition of a message without a key."""

    UseSinglePartition = 0
    RoundRobinDistribution = 1
    CustomPartition = 2


class BatchingType(Enumeration):
    """Whether messages of different keys share a batch."""

    Default = 0
    KeyBased = 1


class LoggerLevel(Enumeration):
    """What a ConsoleLogger or FileLogger writes."""

    Debug = 0
    Info = 1
    Warn = 2
    Error = 3


class KeySharedMode(Enumeration):
    """Who chooses the hash ranges of a Key_Shared consumer: the broker or the application."""

    AutoSplit = 0
    Sticky = 1


class ProducerAccessMode(Enumeration):
    """Whether a producer shares its topic with others."""

    Shared = 0
    Exclusive = 1
    WaitForExclusive = 2
    ExclusiveWithFencing = 3


class RegexSubscriptionMode(Enumeration):
    """Which topics a pattern may match."""

    PersistentOnly = 0
    NonPersistentOnly = 1
    AllTopics = 2


class ConsumerCryptoFailureAction(Enumeration):
    """What becomes of a message that cannot be decrypted."""

    FAIL = 0
    DISCARD = 1
    CONSUME = 2


class SchemaType(Enumeration):
    """The type of a schema; BYTES is the absence of one."""

    NONE = 0
    STRING = 1
    INT8 = 6
    INT16 = 7
    INT32 = 8
    INT64 = 9
    FLOAT = 10
    DOUBLE = 11
    BYTES = -1
    JSON = 2
    PROTOBUF = 3
    AVRO = 4
    AUTO_CONSUME = -3
    AUTO_PUBLISH = -4
    KEY_VALUE = 15
    PROTOBUF_NATIVE = 20
