"""What the parts of one topic share: writer, producers, subscriptions and features."""

from magnetar.broker.topics.topic_context import TopicContext
from magnetar.broker.topics.transaction_buffer import TransactionBuffer
from magnetar.clock import Clock
from magnetar.errors import TopicClosed
from magnetar.late_dataclass import dataclass
from magnetar.model.names import TopicName
from magnetar.model.policies import Policies
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger


@dataclass(slots=True)
class TopicState:
    """One topic, made by it and handed to each of its parts."""

    name: TopicName
    context: TopicContext
    policies: Policies
    """The policies in force."""
    closed: bool = False
    """It lets go of everybody, and takes nobody any more."""

    @property
    def clock(self) -> Clock:
        """The broker's."""
        return self.context.clock

    @property
    def entry_size_max(self) -> int:
        """The bytes of what may be published at once; 0: as many as clients may send."""
        return 0

    def check_open(self) -> None:
        """Raises TopicClosed."""
        if self.closed:
            raise TopicClosed(f"Topic {self.name} is being closed here; look it up again")


@dataclass(slots=True, kw_only=True)
class StoredTopicState(TopicState):
    """The same of a topic that keeps what is published."""

    ledger: ManagedLedger
    size_evictions: int = 0
    """How often messages went because of the quota on the size of backlogs."""
    transactions: TransactionBuffer | None = None
    """What is known of transactions; None in a topic that never saw one."""
    age_evictions: int = 0
    """The same for the quota on their age."""

    @property
    def entry_size_max(self) -> int:
        return self.context.entry_size_max
