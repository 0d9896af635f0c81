"""The settings of a client in the environment: ``PULSAR_`` and the name of each in capitals."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Final, cast

from magnetar.errors import InvalidValue

from .authentication.plugins import authentication_of
from .authentication.token import AuthenticationToken
from .client_conf import settings_in_conf
from .config import ClientConfig, ClientSettings

PREFIX: Final = "PULSAR_"
CONF: Final = "PULSAR_CLIENT_CONF"
_AUTHENTICATION: Final = (
    "PULSAR_TOKEN",
    "PULSAR_TOKEN_FILE",
    "PULSAR_AUTH_PLUGIN",
    "PULSAR_AUTH_PARAMS",
)
# A misspelt setting of these would leave a client less safe than it was meant to be.
_SECURITY: Final = ("PULSAR_TLS", "PULSAR_TOKEN", "PULSAR_AUTH")


_READERS: Final[Mapping[object, tuple[Callable[[str], object], str]]] = {
    str: (str, "text"),
    str | None: (str, "text"),
    int: (int, "a whole number"),
    float: (float, "a number"),
    bool: (lambda text: {"true": True, "false": False}[text.lower()], "true or false"),
}


def settings_in_environment(environment: Mapping[str, str]) -> ClientSettings:
    """What the variables say, over the file that PULSAR_CLIENT_CONF names.

    Raises InvalidValue, which names the variable; other variables of Pulsar's are left alone.
    """
    conf = environment.get(CONF)
    found: dict[str, object] = {**read_conf(conf)} if conf else {}
    found |= variables(environment)
    if "service_url" not in found:
        raise InvalidValue(f"neither PULSAR_SERVICE_URL nor {CONF} is set: where is Pulsar?")
    return cast("ClientSettings", found)


def variables(environment: Mapping[str, str]) -> dict[str, object]:
    """What the variables say alone, by the settings' names. Raises InvalidValue."""
    given = {name: value for name, value in environment.items() if value}
    found: dict[str, object] = {}
    readers = {PREFIX + each.name.upper(): _READERS.get(each.type) for each in fields(ClientConfig)}
    for name, value in given.items():
        reader = readers.get(name)
        if reader is not None:
            read, kind = reader
            try:
                found[name.removeprefix(PREFIX).lower()] = read(value)
            except (KeyError, ValueError):
                raise InvalidValue(f"{name} is {value!r}; it must be {kind}") from None
        elif name.startswith(_SECURITY) and name not in _AUTHENTICATION:
            raise InvalidValue(f"{name} is no setting of a client: is it misspelt?")
    return found | _authentication(given)


def read_conf(file: str) -> ClientSettings:
    """What a ``client.conf`` says. Raises InvalidValue."""
    return settings_in_conf(conf_text(file), file)


def conf_text(file: str) -> str:
    """Raises InvalidValue for a file that cannot be read."""
    try:
        return Path(file).read_text()
    except (OSError, UnicodeError) as error:
        raise InvalidValue(f"{file} cannot be read: {error}") from error


def _authentication(given: Mapping[str, str]) -> dict[str, object]:
    ways = [name for name in _AUTHENTICATION if name in given and name != "PULSAR_AUTH_PARAMS"]
    if len(ways) > 1:
        raise InvalidValue(f"{' and '.join(ways)} say who the client is: keep one of them")
    if "PULSAR_TOKEN" in given:
        return {"authentication": AuthenticationToken(given["PULSAR_TOKEN"])}
    if "PULSAR_TOKEN_FILE" in given:
        return {"authentication": AuthenticationToken(file=given["PULSAR_TOKEN_FILE"])}
    parameters = given.get("PULSAR_AUTH_PARAMS", "")
    if "PULSAR_AUTH_PLUGIN" in given:
        return {"authentication": authentication_of(given["PULSAR_AUTH_PLUGIN"], parameters)}
    if parameters:
        raise InvalidValue("PULSAR_AUTH_PARAMS without PULSAR_AUTH_PLUGIN")
    return {}
