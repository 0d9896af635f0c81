"""The options ``pulsar.client.*``: settings of the client, by the names of Java's client. Pure.

Spark hands option names over without their case, so they are compared without it.
"""
# ruff: noqa: PLC0415 - imported when called: Spark imports the options with any Python data source.

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, cast

from magnetar.errors import InvalidValue

if TYPE_CHECKING:
    from magnetar.client.config import ClientOptions

PREFIX: Final = "pulsar.client."
_PLUGIN, _PARAMETERS = "authPluginClassName", "authParams"


def _truth(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _seconds(per_second: int) -> Callable[[str], float]:
    return lambda text: int(text) / per_second


_SETTINGS: Final[dict[str, tuple[str, Callable[[str], object]]]] = {
    "listenerName": ("listener_name", str),
    "tlsTrustCertsFilePath": ("tls_trust_certs_file", str),
    "tlsCertificateFilePath": ("tls_certificate_file", str),
    "tlsKeyFilePath": ("tls_key_file", str),
    "tlsHostnameVerificationEnable": ("tls_verify_hostname", _truth),
    "tlsAllowInsecureConnection": ("tls_allow_insecure", _truth),
    "connectionTimeoutMs": ("connection_timeout_s", _seconds(1000)),
    "keepAliveIntervalSeconds": ("keep_alive_interval_s", _seconds(1)),
    "connectionsPerBroker": ("connections_per_broker", int),
    "connectionMaxIdleSeconds": ("connection_idle_max_s", _seconds(1)),
    "maxLookupRedirects": ("lookup_redirects_max", int),
    "memoryLimitBytes": ("memory_limit_bytes", int),
    "initialBackoffIntervalNanos": ("backoff_first_s", _seconds(10**9)),
    "maxBackoffIntervalNanos": ("backoff_max_s", _seconds(10**9)),
}
_ELSEWHERE: Final = {
    "serviceUrl": "service.url",
    "operationTimeoutMs": "timeoutSeconds",
    "lookupTimeoutMs": "timeoutSeconds",
    "useTls": "pulsar+ssl:// in service.url",
    "tlsTrustStorePath": f"{PREFIX}tlsTrustCertsFilePath, a PEM file",
    "tlsKeyStorePath": f"{PREFIX}tlsCertificateFilePath and tlsKeyFilePath, PEM files",
}
_NAMES: Final = {name.lower(): name for name in (*_SETTINGS, *_ELSEWHERE, _PLUGIN, _PARAMETERS)}


class OfClient(Protocol):
    """Who says how a client connects."""

    def options(self) -> "ClientOptions":
        """The keyword arguments of a client."""


@dataclass(frozen=True, slots=True, eq=False)
class GivenOptions:
    """Says what a client is made with, which is known already."""

    given: "ClientOptions" = field(repr=False)

    def options(self) -> "ClientOptions":
        return self.given


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What the options say, as they say it: credentials are not shown. May be pickled."""

    given: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return f"ClientSettings({', '.join(name for name, _ in self.given)})"

    @staticmethod
    def parse(options: Mapping[str, str]) -> "ClientSettings":
        """Take the options that begin with ``pulsar.client.``. Raises InvalidValue."""
        given = {}
        for option, value in options.items():
            if option.lower().startswith(PREFIX):
                given[_known(option)] = value.strip()
        settings = ClientSettings(tuple(sorted(given.items())))
        settings.options()
        return settings

    def options(self) -> "ClientOptions":
        """The keyword arguments of a client. Raises InvalidValue, which repeats no credentials."""
        from magnetar.client.authentication.plugins import authentication_of

        given = dict(self.given)
        found: dict[str, object] = {}
        for name, text in given.items():
            if name in _SETTINGS:
                setting, read = _SETTINGS[name]
                try:
                    found[setting] = read(text)
                except (ValueError, KeyError) as error:
                    kind = "true or false" if read is _truth else "a whole number"
                    raise InvalidValue(
                        f"option {PREFIX}{name} is '{text}': it has to be {kind}"
                    ) from error
        if _PLUGIN in given:
            found["authentication"] = authentication_of(given[_PLUGIN], given.get(_PARAMETERS, ""))
        elif _PARAMETERS in given:
            raise InvalidValue(f"option {PREFIX}{_PARAMETERS} needs {PREFIX}{_PLUGIN} beside it")
        return cast("ClientOptions", found)


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the broker is, and how to connect and to wait for it."""

    service_url: str
    timeout_s: float
    retry_forever: bool
    client: OfClient


def as_given(option: str) -> str:
    """The name of an unknown option, whose spelling is lost on the way through Spark."""
    return f"'{option}'" + (" (Spark hands names on in lower case)" if option.islower() else "")


def _known(option: str) -> str:
    lower = option[len(PREFIX) :].lower()
    name = _NAMES.get(lower)
    if name in _ELSEWHERE:
        raise InvalidValue(f"option {PREFIX}{name} is not for this client: use {_ELSEWHERE[name]}")
    if name is None:
        close = difflib.get_close_matches(lower, _NAMES, n=1, cutoff=0.8)
        remedy = (
            f"did you mean '{PREFIX}{_NAMES[close[0]]}'?"
            if close
            else f"there are {', '.join((*_SETTINGS, _PLUGIN, _PARAMETERS))}"
        )
        raise InvalidValue(f"unknown option {as_given(option)}: {remedy}")
    return name
