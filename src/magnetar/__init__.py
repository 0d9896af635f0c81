"""Magnetar: Apache Pulsar's messaging system in Python.

The names here are the client's: ``async with Client("pulsar://localhost:6650") as client``.
``magnetar.client.blocking`` has the same client for threads.

A name is imported when it is first used, so that a broker does not load the client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from magnetar import errors as errors
    from magnetar.client.client import Client as Client
    from magnetar.client.consumer import Consumer as Consumer
    from magnetar.client.contracts import Producer as Producer
    from magnetar.client.message import Message as Message
    from magnetar.client.message import OutMessage as OutMessage
    from magnetar.client.reader import Reader as Reader
    from magnetar.client.routing import HashingScheme as HashingScheme
    from magnetar.client.routing import RoutingMode as RoutingMode
    from magnetar.message.compression import CompressionType as CompressionType
    from magnetar.model.position import EARLIEST_MESSAGE as EARLIEST_MESSAGE
    from magnetar.model.position import LATEST_MESSAGE as LATEST_MESSAGE
    from magnetar.model.position import MessageId as MessageId
    from magnetar.model.subscriptions import InitialPosition as InitialPosition
    from magnetar.model.subscriptions import SubscriptionType as SubscriptionType

__version__ = "0.1.0"

_HOMES = {
    "EARLIEST_MESSAGE": "model.position",
    "LATEST_MESSAGE": "model.position",
    "Client": "client.client",
    "CompressionType": "message.compression",
    "Consumer": "client.consumer",
    "HashingScheme": "client.routing",
    "InitialPosition": "model.subscriptions",
    "Message": "client.message",
    "MessageId": "model.position",
    "OutMessage": "client.message",
    "Producer": "client.contracts",
    "Reader": "client.reader",
    "RoutingMode": "client.routing",
    "SubscriptionType": "model.subscriptions",
}

__all__ = [*_HOMES, "errors"]  # noqa: PLE0604 - the names of the table, each a string


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("magnetar.errors")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'magnetar' has no attribute {name!r}")
    return getattr(import_module(f"magnetar.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
