"""Magnetar: Apache Pulsar's messaging system in Python.

The names here are the client's: ``async with Client("pulsar://localhost:6650") as client``.
``magnetar.client.blocking`` has the same client for threads.
"""

from magnetar import errors
from magnetar.client.client import Client
from magnetar.client.consumer import Consumer
from magnetar.client.contracts import Producer
from magnetar.client.message import Message, OutMessage
from magnetar.client.reader import Reader
from magnetar.client.routing import HashingScheme, RoutingMode
from magnetar.message.compression import CompressionType
from magnetar.model.position import EARLIEST_MESSAGE, LATEST_MESSAGE, MessageId
from magnetar.model.subscriptions import InitialPosition, SubscriptionType

__version__ = "0.1.0"

__all__ = [
    "EARLIEST_MESSAGE",
    "LATEST_MESSAGE",
    "Client",
    "CompressionType",
    "Consumer",
    "HashingScheme",
    "InitialPosition",
    "Message",
    "MessageId",
    "OutMessage",
    "Producer",
    "Reader",
    "RoutingMode",
    "SubscriptionType",
    "errors",
]
