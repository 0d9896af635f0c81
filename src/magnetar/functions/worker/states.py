"""The state of functions, read and written from outside: ``querystate`` and ``putstate``."""

import asyncio
import base64
from collections.abc import Mapping
from typing import Any, Unpack

from magnetar.client import blocking
from magnetar.client.admin_api import AdminApi
from magnetar.client.config import ClientOptions
from magnetar.functions.config import FunctionConfig
from magnetar.functions.state_topic import put_state, read_state


class States:
    """The states of all functions."""

    def __init__(self, service_url: str, admin_url: str, **options: Unpack[ClientOptions]) -> None:
        """``options`` are those of a client."""
        self._service_url = service_url
        self._admin = AdminApi(admin_url, **options)
        self._options = options

    async def get(self, config: FunctionConfig, key: str) -> dict[str, Any] | None:
        """A value as Pulsar's FunctionState shows it: text, bytes or a counter; None: no key."""
        return await asyncio.to_thread(self._get, config, key)

    async def put(self, config: FunctionConfig, key: str, value: bytes) -> None:
        """Write a value."""
        await asyncio.to_thread(self._put, config, key, value)

    def _get(self, config: FunctionConfig, key: str) -> dict[str, Any] | None:
        with blocking.Client(self._service_url, **self._options) as client:
            state = read_state(client, config)
        return shown(state.get(key), state.counters().get(key))

    def _put(self, config: FunctionConfig, key: str, value: bytes) -> None:
        with blocking.Client(self._service_url, **self._options) as client:
            put_state(client, config, key, value, admin=self._admin)


def shown(value: bytes | None, counter: int | None) -> dict[str, Any] | None:
    """A value, or a counter, by the names of Pulsar's FunctionState, without the key."""
    if value is None:
        return None if counter is None else {"numberValue": counter}
    try:
        return {"stringValue": value.decode()}
    except UnicodeDecodeError:
        return {"byteValue": base64.b64encode(value).decode()}


def value_of(state: Mapping[str, Any]) -> bytes | None:
    """The value in Pulsar's FunctionState; None where it has none that can be put."""
    text, octets = state.get("stringValue"), state.get("byteValue")
    if isinstance(text, str):
        return text.encode()
    return base64.b64decode(octets) if isinstance(octets, str) else None
