"""The policies of a consumer: batch receive, Key_Shared, dead letters. Pure.

Each is there twice, as in ``pulsar-client``: what an application makes, and what ``policy()``
returns.
"""

from collections.abc import Sequence
from copy import copy
from itertools import pairwise
from typing import Final

from .enums import KeySharedMode

NO_LIMIT: Final = 2**31 - 1  # The greatest number that theirs takes.
BATCH_BYTES_MAX_DEFAULT: Final = 10 * 1024 * 1024
HASH_MAX: Final = 65_535


class BatchReceivePolicy:
    """How many messages or bytes ``batch_receive`` waits for, and how long; 0 or less: no limit.

    Raises ValueError when there is no limit at all.
    """

    def __init__(self, max_num_messages: int, max_num_bytes: int, timeout_ms: int) -> None:
        if max_num_messages <= 0 and max_num_bytes <= 0 and timeout_ms <= 0:
            raise ValueError(
                "At least one of maxNumMessages, maxNumBytes and timeoutMs must be specified."
            )
        if max_num_messages <= 0 and max_num_bytes <= 0:
            max_num_messages, max_num_bytes = -1, BATCH_BYTES_MAX_DEFAULT
        self._messages = max_num_messages
        self._bytes = max_num_bytes
        self._timeout_ms = timeout_ms

    def getMaxNumMessages(self) -> int:
        return self._messages

    def getMaxNumBytes(self) -> int:
        return self._bytes

    def getTimeoutMs(self) -> int:
        return self._timeout_ms


class ConsumerBatchReceivePolicy:
    """How many messages or bytes ``batch_receive`` waits for, and how long."""

    def __init__(self, max_num_message: int, max_num_bytes: int, timeout_ms: int) -> None:
        """0 or less means no limit, but one of them must be one. Raises ValueError."""
        self._policy = BatchReceivePolicy(max_num_message, max_num_bytes, timeout_ms)

    def policy(self) -> BatchReceivePolicy:
        return self._policy


DEFAULT_BATCH_RECEIVE_POLICY: Final = ConsumerBatchReceivePolicy(-1, BATCH_BYTES_MAX_DEFAULT, 100)


class KeySharedPolicy:
    """Which keys a Key_Shared consumer gets."""

    def __init__(self) -> None:
        self._mode = KeySharedMode.AutoSplit
        self._out_of_order = False
        self._ranges: list[tuple[int, int]] = []

    def set_key_shared_mode(self, mode: KeySharedMode) -> "KeySharedPolicy":
        self._mode = mode
        return self

    def get_key_shared_mode(self) -> KeySharedMode:
        return self._mode

    def set_allow_out_of_order_delivery(self, allowed: bool) -> "KeySharedPolicy":
        self._out_of_order = allowed
        return self

    def is_allow_out_of_order_delivery(self) -> bool:
        return self._out_of_order

    def set_sticky_ranges(self, ranges: Sequence[tuple[int, int]]) -> "KeySharedPolicy":
        """Set ranges of hashes from 0 to 65,535, both ends included. Raises ValueError."""
        if not ranges:
            raise ValueError("Ranges for KeyShared policy must not be empty.")
        for first, last in ranges:
            if not 0 <= first <= last <= HASH_MAX:
                raise ValueError(
                    f"KeySharedPolicy Exception: Ranges must be [0, {HASH_MAX}], the first "
                    f"number not above the second; one is ({first}, {last})"
                )
        in_order = sorted(ranges)
        for (_, last), (first, _) in pairwise(in_order):
            if first <= last:
                raise ValueError("Ranges for KeyShared policy with overlap.")
        self._ranges = [(first, last) for first, last in ranges]
        return self

    def get_sticky_ranges(self) -> list[tuple[int, int]]:
        return list(self._ranges)


class ConsumerKeySharedPolicy:
    """Which keys a Key_Shared consumer gets."""

    def __init__(
        self,
        key_shared_mode: KeySharedMode = KeySharedMode.AutoSplit,
        allow_out_of_order_delivery: bool = False,
        sticky_ranges: list[tuple[int, int]] | None = None,
    ) -> None:
        """``sticky_ranges`` are needed for the mode Sticky. Raises ValueError."""
        if key_shared_mode == KeySharedMode.Sticky and sticky_ranges is None:
            raise ValueError(
                "When using key_shared_mode = KeySharedMode.Sticky you must also provide "
                "sticky_ranges"
            )
        self._policy = KeySharedPolicy()
        self._policy.set_key_shared_mode(key_shared_mode)
        self._policy.set_allow_out_of_order_delivery(allow_out_of_order_delivery)
        if sticky_ranges is not None:
            self._policy.set_sticky_ranges(sticky_ranges)

    @property
    def key_shared_mode(self) -> KeySharedMode:
        return self._policy.get_key_shared_mode()

    @property
    def allow_out_of_order_delivery(self) -> bool:
        return self._policy.is_allow_out_of_order_delivery()

    @property
    def sticky_ranges(self) -> list[tuple[int, int]]:
        return self._policy.get_sticky_ranges()

    def policy(self) -> KeySharedPolicy:
        return self._policy


class DeadLetterPolicy:
    """When a message goes to a dead letter topic, and to which one; "" for the default."""

    def __init__(self) -> None:
        self._topic = ""
        self._redeliveries_max = 2**31 - 1
        self._subscription = ""

    def getDeadLetterTopic(self) -> str:
        return self._topic

    def getMaxRedeliverCount(self) -> int:
        return self._redeliveries_max

    def getInitialSubscriptionName(self) -> str:
        return self._subscription


class DeadLetterPolicyBuilder:
    """Makes a DeadLetterPolicy."""

    def __init__(self) -> None:
        self._made = DeadLetterPolicy()

    def deadLetterTopic(self, topic: str) -> "DeadLetterPolicyBuilder":
        self._made._topic = topic
        return self

    def maxRedeliverCount(self, count: int) -> "DeadLetterPolicyBuilder":
        self._made._redeliveries_max = count
        return self

    def initialSubscriptionName(self, name: str) -> "DeadLetterPolicyBuilder":
        self._made._subscription = name
        return self

    def build(self) -> DeadLetterPolicy:
        made, self._made = self._made, copy(self._made)
        return made


class ConsumerDeadLetterPolicy:
    """When a message goes to a dead letter topic, and to which one."""

    def __init__(
        self,
        max_redeliver_count: int,
        dead_letter_topic: str | None = None,
        initial_subscription_name: str | None = None,
    ) -> None:
        """Redelivered so often, a message goes there. Raises ValueError for less than once.

        Without a name the topic is ``TOPIC-SUBSCRIPTION-DLQ``; a subscription of it is made when
        its name is given.
        """
        builder = DeadLetterPolicyBuilder()
        if max_redeliver_count is None or max_redeliver_count < 1:
            raise ValueError("max_redeliver_count must be greater than 0")
        builder.maxRedeliverCount(max_redeliver_count)
        if dead_letter_topic is not None:
            builder.deadLetterTopic(dead_letter_topic)
        if initial_subscription_name is not None:
            builder.initialSubscriptionName(initial_subscription_name)
        self._policy = builder.build()

    @property
    def dead_letter_topic(self) -> str:
        return self._policy.getDeadLetterTopic()

    @property
    def max_redeliver_count(self) -> int:
        return self._policy.getMaxRedeliverCount()

    @property
    def initial_subscription_name(self) -> str:
        return self._policy.getInitialSubscriptionName()

    def policy(self) -> DeadLetterPolicy:
        return self._policy
