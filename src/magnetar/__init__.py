"""Magnetar: Apache Pulsar's messaging system in Python.

The names here are the client's: ``async with Client("pulsar://localhost:6650") as client``.
``magnetar.client.blocking`` has the same client for threads.

They are imported when first used: who wants ``magnetar.errors`` alone, or starts a broker, does
not pay for the client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from magnetar.version import __version__ as __version__

if TYPE_CHECKING:
    from magnetar import errors
    from magnetar.client.admin_api import AdminAnswer, AdminApi
    from magnetar.client.authentication.authentication import Authentication
    from magnetar.client.authentication.basic import AuthenticationBasic
    from magnetar.client.authentication.oauth2 import AuthenticationOAuth2
    from magnetar.client.authentication.tls import AuthenticationTls
    from magnetar.client.authentication.token import AuthenticationToken
    from magnetar.client.client import Client
    from magnetar.client.consumers.config import ConsumerCryptoFailureAction
    from magnetar.client.consumers.consumer import Consumer
    from magnetar.client.consumers.dead_letter_policy import DeadLetterPolicy
    from magnetar.client.consumers.interceptors import ConsumerInterceptor
    from magnetar.client.consumers.reader import Reader
    from magnetar.client.consumers.redelivery_backoff import RedeliveryBackoff
    from magnetar.client.consumers.table_view import TableView
    from magnetar.client.encryption.keys import CryptoKeyReader, EncryptionKey, FileKeyReader
    from magnetar.client.failover import (
        AutoClusterFailover,
        ControlledClusterFailover,
        ServiceInfo,
    )
    from magnetar.client.message import EncryptionContext, Message, TopicMessageId
    from magnetar.client.outgoing_message import OutgoingMessage
    from magnetar.client.producers.config import ProducerCryptoFailureAction
    from magnetar.client.producers.interceptors import ProducerInterceptor
    from magnetar.client.producers.producer import Producer
    from magnetar.client.producers.routing import HashingScheme, RoutingMode
    from magnetar.client.transaction import Transaction, TransactionState
    from magnetar.message.compression import CompressionType
    from magnetar.model.position import EARLIEST_MESSAGE, LATEST_MESSAGE, MessageId
    from magnetar.model.producers import ProducerAccessMode
    from magnetar.model.subscriptions import (
        InitialPosition,
        KeySharedPolicy,
        RegexSubscriptionMode,
        SubscriptionType,
    )
    from magnetar.model.txn_id import TxnId

__all__ = [
    "EARLIEST_MESSAGE",
    "LATEST_MESSAGE",
    "AdminAnswer",
    "AdminApi",
    "Authentication",
    "AuthenticationBasic",
    "AuthenticationOAuth2",
    "AuthenticationTls",
    "AuthenticationToken",
    "AutoClusterFailover",
    "Client",
    "CompressionType",
    "Consumer",
    "ConsumerCryptoFailureAction",
    "ConsumerInterceptor",
    "ControlledClusterFailover",
    "CryptoKeyReader",
    "DeadLetterPolicy",
    "EncryptionContext",
    "EncryptionKey",
    "FileKeyReader",
    "HashingScheme",
    "InitialPosition",
    "KeySharedPolicy",
    "Message",
    "MessageId",
    "OutgoingMessage",
    "Producer",
    "ProducerAccessMode",
    "ProducerCryptoFailureAction",
    "ProducerInterceptor",
    "Reader",
    "RedeliveryBackoff",
    "RegexSubscriptionMode",
    "RoutingMode",
    "ServiceInfo",
    "SubscriptionType",
    "TableView",
    "TopicMessageId",
    "Transaction",
    "TransactionState",
    "TxnId",
    "errors",
]

_HOMES: Final = {
    "EARLIEST_MESSAGE": "magnetar.model.position",
    "LATEST_MESSAGE": "magnetar.model.position",
    "AdminAnswer": "magnetar.client.admin_api",
    "AdminApi": "magnetar.client.admin_api",
    "Authentication": "magnetar.client.authentication.authentication",
    "AuthenticationBasic": "magnetar.client.authentication.basic",
    "AuthenticationOAuth2": "magnetar.client.authentication.oauth2",
    "AuthenticationTls": "magnetar.client.authentication.tls",
    "AuthenticationToken": "magnetar.client.authentication.token",
    "AutoClusterFailover": "magnetar.client.failover",
    "ServiceInfo": "magnetar.client.failover",
    "Client": "magnetar.client.client",
    "CompressionType": "magnetar.message.compression",
    "Consumer": "magnetar.client.consumers.consumer",
    "ConsumerCryptoFailureAction": "magnetar.client.consumers.config",
    "ConsumerInterceptor": "magnetar.client.consumers.interceptors",
    "ControlledClusterFailover": "magnetar.client.failover",
    "CryptoKeyReader": "magnetar.client.encryption.keys",
    "DeadLetterPolicy": "magnetar.client.consumers.dead_letter_policy",
    "EncryptionContext": "magnetar.client.message",
    "EncryptionKey": "magnetar.client.encryption.keys",
    "FileKeyReader": "magnetar.client.encryption.keys",
    "HashingScheme": "magnetar.client.producers.routing",
    "InitialPosition": "magnetar.model.subscriptions",
    "KeySharedPolicy": "magnetar.model.subscriptions",
    "Message": "magnetar.client.message",
    "MessageId": "magnetar.model.position",
    "OutgoingMessage": "magnetar.client.outgoing_message",
    "Producer": "magnetar.client.producers.producer",
    "ProducerAccessMode": "magnetar.model.producers",
    "ProducerCryptoFailureAction": "magnetar.client.producers.config",
    "ProducerInterceptor": "magnetar.client.producers.interceptors",
    "Reader": "magnetar.client.consumers.reader",
    "RedeliveryBackoff": "magnetar.client.consumers.redelivery_backoff",
    "RegexSubscriptionMode": "magnetar.model.subscriptions",
    "RoutingMode": "magnetar.client.producers.routing",
    "SubscriptionType": "magnetar.model.subscriptions",
    "TableView": "magnetar.client.consumers.table_view",
    "TopicMessageId": "magnetar.client.message",
    "Transaction": "magnetar.client.transaction",
    "TransactionState": "magnetar.client.transaction",
    "TxnId": "magnetar.model.txn_id",
}


if not TYPE_CHECKING:  # A type checker that knew of it would take every name for one that exists.

    def __getattr__(name: str) -> object:
        if name == "errors":
            return import_module("magnetar.errors")
        if name not in _HOMES:
            raise AttributeError(f"module 'magnetar' has no attribute {name!r}")
        found = getattr(import_module(_HOMES[name]), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
