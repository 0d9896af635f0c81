"""The methods of authentication by the names and parameters of Pulsar's ``client.conf``."""

import json
from collections.abc import Mapping
from typing import Final

from magnetar.errors import InvalidValue

from .authentication import Authentication
from .basic import AuthenticationBasic
from .oauth2 import AuthenticationOAuth2
from .tls import AuthenticationTls
from .token import AuthenticationToken

_PACKAGE: Final = "org.apache.pulsar.client.impl.auth."
NAMES: Final = {
    f"{_PACKAGE}AuthenticationDisabled": "none",
    f"{_PACKAGE}AuthenticationToken": "token",
    f"{_PACKAGE}AuthenticationBasic": "basic",
    f"{_PACKAGE}AuthenticationTls": "tls",
    f"{_PACKAGE}oauth2.AuthenticationOAuth2": "oauth2",
}


def authentication_of(plugin: str, parameters: str) -> Authentication | None:
    """What ``authPlugin`` and ``authParams`` mean: Java's name of a class, or a short one.

    Parameters are JSON or ``key:value,key:value``, and a token may stand by itself. Raises
    InvalidValue, which repeats no parameter.
    """
    name = NAMES.get(plugin, plugin)
    if name == "none":
        return None
    if name not in NAMES.values():
        known = ", ".join(NAMES.values())
        raise InvalidValue(f"authPlugin {plugin!r} is not known here; it may be one of {known}")
    if name == "token":
        return _token(parameters)
    given = _pairs(name, parameters)
    if name == "basic":
        return AuthenticationBasic(
            _one(given, name, "userId", "username"), _one(given, name, "password")
        )
    if name == "tls":
        return AuthenticationTls(_one(given, name, "tlsCertFile"), _one(given, name, "tlsKeyFile"))
    if given.get("type", "client_credentials") != "client_credentials":
        raise InvalidValue("authParams of oauth2: only the type client_credentials is known")
    return AuthenticationOAuth2(
        _one(given, name, "issuerUrl", "issuer_url"),
        _one(given, name, "privateKey", "private_key"),
        audience=given.get("audience"),
        scope=given.get("scope"),
    )


def _token(parameters: str) -> AuthenticationToken:
    if parameters.startswith("file:"):
        return AuthenticationToken(file=parameters.removeprefix("file://").removeprefix("file:"))
    if parameters.startswith("{"):
        return AuthenticationToken(_one(_pairs("token", parameters), "token", "token"))
    token = parameters.removeprefix("token:")
    if not token:
        raise InvalidValue("authParams is empty: token:..., or file:///path of a file with it")
    return AuthenticationToken(token)


def _pairs(method: str, parameters: str) -> Mapping[str, str]:
    try:
        if parameters.lstrip().startswith("{"):
            return {str(key): str(value) for key, value in json.loads(parameters).items()}
        return dict(pair.strip().split(":", 1) for pair in parameters.split(",") if pair.strip())
    except ValueError:
        pass
    raise InvalidValue(f"authParams of {method} are neither JSON nor key:value,key:value")


def _one(given: Mapping[str, str], method: str, *names: str) -> str:
    for name in names:
        if name in given:
            return given[name]
    raise InvalidValue(f"authParams of {method} have no {' or '.join(names)}")
