"""The names and behaviour of ``pulsar.asyncio``, over our asyncio client.

A client belongs to the event loop it is first used in. Every call may be cancelled: no message is
lost by it.
"""

from magnetar.compat.enums import (
    BatchingType,
    CompressionType,
    ConsumerCryptoFailureAction,
    InitialPosition,
    PartitionsRoutingMode,
    ProducerAccessMode,
    RegexSubscriptionMode,
)

from .client import Client
from .consumer import Consumer
from .exception import PulsarException
from .producer import Producer
from .reader import Reader

__all__ = [
    "BatchingType",
    "Client",
    "CompressionType",
    "Consumer",
    "ConsumerCryptoFailureAction",
    "InitialPosition",
    "PartitionsRoutingMode",
    "Producer",
    "ProducerAccessMode",
    "PulsarException",
    "Reader",
    "RegexSubscriptionMode",
]
