"""The settings of a client by the names of Pulsar's ``client.conf``."""

import difflib
import logging
from collections.abc import Mapping
from typing import Final, NamedTuple, cast

from magnetar.errors import InvalidValue

from .authentication.plugins import authentication_of
from .config import ClientOptions, ClientSettings

log = logging.getLogger(__name__)

_TEXTS: Final = {
    "tlsTrustCertsFilePath": "tls_trust_certs_file",
    "tlsCertificateFilePath": "tls_certificate_file",
    "tlsKeyFilePath": "tls_key_file",
    "listenerName": "listener_name",
}
_FLAGS: Final = {
    "tlsAllowInsecureConnection": "tls_allow_insecure",
    "tlsEnableHostnameVerification": "tls_verify_hostname",
}
_READ: Final = {
    "brokerServiceUrl", "webServiceUrl", "authPlugin", "authParams", "useTls", *_TEXTS, *_FLAGS
}  # fmt: skip
# They concern Java's key stores alone, and say nothing while none is named.
_OF_KEY_STORES: Final = {"tlsTrustStoreType", "tlsKeyStoreType", "webserviceTlsProvider"}
_REFUSED: Final = {
    "useKeyStoreTls": "export the key store to PEM files, for tlsTrustCertsFilePath and others",
    "tlsTrustStorePath": "export the trust store to a PEM file, for tlsTrustCertsFilePath",
    "tlsTrustStorePassword": "export the trust store to a PEM file, for tlsTrustCertsFilePath",
    "tlsKeyStorePath": "export it to PEM files, for tlsCertificateFilePath and tlsKeyFilePath",
    "tlsKeyStorePassword": "export it to PEM files, for tlsCertificateFilePath and tlsKeyFilePath",
    "proxyServiceUrl": "connect to a Pulsar proxy by brokerServiceUrl",
    "proxyProtocol": "connect to a Pulsar proxy by brokerServiceUrl",
}


class ClientConf(NamedTuple):
    """What a file says: where brokers and their admin API are, and how to connect."""

    broker_url: str | None
    web_url: str | None
    use_tls: bool
    options: ClientOptions
    unknown: tuple[str, ...]
    """Of each key that means nothing here: that it does, and which may be meant."""


def settings_in_conf(text: str, source: str) -> ClientSettings:
    """The settings of a client that is to connect. Raises InvalidValue, as ``read_conf_text``."""
    found = read_conf_text(text, source)
    url = found.broker_url or found.web_url
    if url is None:
        raise InvalidValue(f"{source} has no brokerServiceUrl")
    if found.use_tls and not url.startswith(("pulsar+ssl://", "https://")):
        raise InvalidValue(f"{source}: useTls is true, but the URL is plain: use pulsar+ssl://")
    return cast("ClientSettings", {**found.options, "service_url": url})


def read_conf_text(text: str, source: str) -> ClientConf:
    """What the text of a ``client.conf`` says; empty values say nothing.

    Raises InvalidValue, which names ``source`` and the key. Keys that mean nothing here are named
    in one line of the log, and those of security that cannot be kept are refused.
    """
    given = _values(text)
    for key, instead in _REFUSED.items():
        if given.get(key, "false").lower() != "false":
            raise InvalidValue(f"{source}: {key} is not for this client: {instead}")
    found: dict[str, object] = {name: given[key] for key, name in _TEXTS.items() if key in given}
    found |= {name: _flag(source, given, key) for key, name in _FLAGS.items() if key in given}
    if "authPlugin" in given:
        parameters = given.get("authParams", "")
        found["authentication"] = authentication_of(given["authPlugin"], parameters)
    elif "authParams" in given:
        raise InvalidValue(f"{source}: authParams without authPlugin")
    unknown = sorted(given.keys() - _READ - _OF_KEY_STORES - _REFUSED.keys())
    if unknown:
        log.warning("client.unknown_keys file=%s keys=%s", source, ",".join(unknown))
    return ClientConf(
        given.get("brokerServiceUrl"),
        given.get("webServiceUrl"),
        _flag(source, given, "useTls"),
        cast("ClientOptions", found),
        tuple(map(_unknown, unknown)),
    )


def _unknown(key: str) -> str:
    near = difflib.get_close_matches(key, _READ, n=1, cutoff=0.8)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{key} is no setting of this client, it is ignored{hint}"


def _values(text: str) -> dict[str, str]:
    found = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith(("#", "!")) and value.strip():
            found[key.strip()] = value.strip()
    return found


def _flag(source: str, given: Mapping[str, str], key: str) -> bool:
    value = given.get(key, "false").lower()
    if value not in {"true", "false"}:
        raise InvalidValue(f"{source}: {key} is {value!r}; it must be true or false")
    return value == "true"
