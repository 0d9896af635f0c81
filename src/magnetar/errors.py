"""Every error Magnetar raises, as one tree.

    MagnetarError                   retriable = False
      ProtocolError                 the peer broke the protocol: log a reason, hang up
        MalformedFrame  FrameTooLarge  UnexpectedCommand
      ChecksumMismatch              the bytes are not those that were sent; the connection stays
      UndecodableValue              the bytes of a message are not what its schema says
      AccessError
        NotAuthenticated  NotAuthorized
      NotFound
        TenantNotFound  NamespaceNotFound  TopicNotFound  SubscriptionNotFound  ConsumerNotFound
        SchemaNotFound  TransactionNotFound
      Conflict
        ProducerBusy  ProducerFenced  ConsumerBusy  ConsumerAssignFailed  AlreadyExists
        LimitReached  TransactionConflict  InvalidTxnStatus  IncompatibleSchema
          InvalidSchema
      Refused
        InvalidName  MessageTooLarge  NotAllowed  AlreadyClosed  TopicTerminated
        CryptoFailed  TransactionAborted
        InvalidValue
          NotOfConsumer
        BacklogQuotaExceeded
          BacklogQuotaHeld        retriable = True
      Unavailable                   retriable = True
        NotOwner  TopicClosed  Fenced  CoordinatorNotFound
        TimedOut
          CommitUnknown         retriable = False
        NotReady
          QueueFull
            MemoryFull
        ConnectionLost
          Unreachable           retriable = False
        NotStored               retriable = False
      StorageError
        LedgerNotFound  EntryNotFound  LedgerFenced  CorruptEntry  WriteFailed
        NotEnoughBookies  MetadataLost  VersionMismatch  StoreLocked
      UnknownFailure                retriable = True: an error whose code we do not know

InvalidValue, ConnectionLost and TimedOut are Python's own ValueError, ConnectionError and
TimeoutError as well.

What an error becomes outside is a table at that edge: ``wire/errors.py`` and
``rest/errors.py``. A test walks this tree to prove both tables total.
"""


class MagnetarError(Exception):
    """The root. ``retriable`` says whether the same call may succeed later."""

    retriable = False


class ProtocolError(MagnetarError):
    """The peer broke the protocol; the connection is closed."""


class MalformedFrame(ProtocolError):
    """Bytes that are no frame of the protocol."""


class FrameTooLarge(ProtocolError):
    """A frame beyond the agreed size."""


class UnexpectedCommand(ProtocolError):
    """A well-formed command that its sender may not send, or not now."""


class ChecksumMismatch(MagnetarError):
    """The bytes that arrived are not the bytes that were sent."""


class UndecodableValue(MagnetarError):
    """A message has no value of its consumer's schema. Its bytes can still be read."""


class AccessError(MagnetarError):
    """The caller may not do what it asked for."""


class NotAuthenticated(AccessError):
    """The caller has not shown who it is."""


class NotAuthorized(AccessError):
    """The caller is known, and lacks the permission."""


class NotFound(MagnetarError):
    """The thing that was named does not exist."""


class TenantNotFound(NotFound):
    pass


class NamespaceNotFound(NotFound):
    pass


class TopicNotFound(NotFound):
    pass


class SubscriptionNotFound(NotFound):
    pass


class ConsumerNotFound(NotFound):
    pass


class SchemaNotFound(NotFound):
    pass


class TransactionNotFound(NotFound):
    """A transaction that never was, that has ended, or that is another role's."""


class Conflict(MagnetarError):
    """The thing that was asked for is held by another, or exists already."""


class ProducerBusy(Conflict):
    pass


class ProducerFenced(Conflict):
    """The topic has another exclusive producer, or had one since this one was cut off."""


class ConsumerBusy(Conflict):
    pass


class ConsumerAssignFailed(Conflict):
    """A Key_Shared consumer's hash ranges cannot be assigned."""


class AlreadyExists(Conflict):
    pass


class LimitReached(Conflict):
    """A limit on the number of something is reached."""


class TransactionConflict(Conflict):
    """Another transaction, or this one, has acknowledged the message and has not ended."""


class InvalidTxnStatus(Conflict):
    """A transaction is in a state in which this cannot be done, such as being ended."""


class IncompatibleSchema(Conflict):
    """A schema that does not go with the one the topic has."""


class InvalidSchema(IncompatibleSchema):
    """A schema whose definition is none of its type."""


class Refused(MagnetarError):
    """The request is understood and will never be granted as it is."""


class InvalidName(Refused):
    """A tenant, namespace, topic or subscription name that breaks the rules for names."""


class InvalidValue(Refused, ValueError):
    """A setting or an argument that is out of range or of the wrong form."""


class NotOfConsumer(InvalidValue):
    """A message, or an id, that tells no topic of the consumer that it is given to."""


class MessageTooLarge(Refused):
    pass


class NotAllowed(Refused):
    pass


class AlreadyClosed(Refused):
    """The application itself closed it before."""


class TopicTerminated(Refused):
    pass


class CryptoFailed(Refused):
    """A message could not be encrypted or decrypted with the keys there are."""


class TransactionAborted(Refused):
    """Nothing of the transaction has happened, nor will: begin another one.

    ``__cause__`` is what kept it from being committed, where that is known.
    """


class BacklogQuotaExceeded(Refused):
    """A topic takes no producers while its backlog exceeds its quota."""


class BacklogQuotaHeld(BacklogQuotaExceeded):
    """The backlog quota is exceeded, and its policy holds producers back."""

    retriable = True


class Unavailable(MagnetarError):
    """It cannot be done now, or not by this broker; trying again may help."""

    retriable = True


class NotOwner(Unavailable):
    """The topic's bundle is not served here; look it up again."""

    def __init__(self, text: str, *, web_url: str = "", web_url_tls: str = "") -> None:
        """The URLs are of its owner's admin API, where that is known."""
        super().__init__(text)
        self.web_url = web_url
        self.web_url_tls = web_url_tls


class TopicClosed(Unavailable):
    """The topic was unloaded or deleted while it was in use."""


class Fenced(Unavailable):
    """Another writer took over, or a write failed, and no more is taken."""


class CoordinatorNotFound(Unavailable):
    """A coordinator of transactions is not served here; look it up again."""


class NotReady(Unavailable):
    pass


class QueueFull(NotReady):
    """A producer has as many messages without a receipt as it may have."""


class MemoryFull(QueueFull):
    """The producers of a client have as many bytes without a receipt as they may have."""


class ConnectionLost(Unavailable, ConnectionError):
    pass


class Unreachable(ConnectionLost):
    """No broker could be reached, and none ever was: the address is wrong, or nobody is there.

    A client does not try again by itself then, and says what it found.
    """

    retriable = False


class TimedOut(Unavailable, TimeoutError):
    pass


class CommitUnknown(TimedOut):
    """Whether a transaction was committed is not known: its coordinator did not say so in time.

    It happened as a whole, or not at all; what was written in it tells which.
    """

    retriable = False


class NotStored(Unavailable):
    """A producer or client that was closed had taken messages which, so far, are not stored."""

    retriable = False


class StorageError(MagnetarError):
    """Bytes at rest could not be written, or not be read back."""


class LedgerNotFound(StorageError):
    pass


class EntryNotFound(StorageError):
    pass


class LedgerFenced(StorageError):
    """The ledger takes no more entries: it was opened elsewhere, or a write failed."""


class CorruptEntry(StorageError):
    """Stored bytes fail their checksum."""


class WriteFailed(StorageError):
    """The disk refused a write or a sync; nothing of it was answered."""

    retriable = True


class NotEnoughBookies(StorageError):
    """Fewer bookies can be written to than a ledger needs."""

    retriable = True


class MetadataLost(StorageError):
    """The metadata store does not answer, or this process has no session there."""

    retriable = True


class VersionMismatch(StorageError):
    """A compare-and-set found another version than expected."""


class StoreLocked(StorageError):
    """Another process holds the data folder."""


class UnknownFailure(MagnetarError):
    """An error whose code is unknown. Pulsar's clients try again, and so does Magnetar's."""

    retriable = True
