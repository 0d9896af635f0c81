"""Where the broker and its admin API are, and who asks: the options that commands share.

Each setting is taken from the option, else the environment, else ``client.conf``, else localhost.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click

from magnetar.errors import ConnectionLost, InvalidValue, NotAuthorized, NotFound, TopicTerminated

if TYPE_CHECKING:
    from magnetar.client.admin_api import AdminApi
    from magnetar.client.client_conf import ClientConf
    from magnetar.client.config import ClientOptions, ClientSettings

F = TypeVar("F", bound=Callable[..., Any])

WEB_SERVICE_URL: Final = "http://localhost:8080"
SERVICE_URL: Final = "pulsar://localhost:6650"
TIMEOUT_S: Final = 300.0
"""Pulsar's ``--request-timeout``: some requests end when a long piece of work has."""
AWAY: Final = "start one with `magnetar standalone`, or say where it is with --admin-url"
NOWHERE: Final = "start a broker with `magnetar standalone`, or say where one is with --url"
UNKNOWN: Final = (
    "say who you are with --auth-plugin token --auth-params token:..., the same keys in client.conf"
    " or PULSAR_TOKEN"
)
FORBIDDEN: Final = (
    "ask as an admin of the tenant or a superuser, or have them grant it (`magnetar admin"
    " namespaces grant-permission`)"
)
UNTRUSTED: Final = " (--tls-trust-cert-path FILE)"
PORT: Final = "--admin-url wants http:// with the web port (8080), or https:// with that for TLS"
# Parameters of commands, and the settings of a client that they say.
_SETTINGS: Final = {
    "tls_trust_cert_path": "tls_trust_certs_file",
    "tls_certificate_file": "tls_certificate_file",
    "tls_key_file": "tls_key_file",
    "tls_allow_insecure": "tls_allow_insecure",
    "tls_verify_hostname": "tls_verify_hostname",
}


_KEYS: Final = {
    "tlsTrustCertsFilePath": "tls_trust_cert_path",
    "tlsCertificateFilePath": "tls_certificate_file",
    "tlsKeyFilePath": "tls_key_file",
    "tlsAllowInsecureConnection": "tls_allow_insecure",
    "tlsEnableHostnameVerification": "tls_verify_hostname",
}
_DEFAULTS: Final = {"tls_allow_insecure": False, "tls_verify_hostname": True}
_WHO: Final = ("PULSAR_TOKEN", "PULSAR_TOKEN_FILE", "PULSAR_AUTH_PLUGIN")


@dataclass(frozen=True)
class Connection:
    """What the options of a command say; read further when it is needed."""

    given: Mapping[str, Any] = field(default_factory=dict)
    """The parameters of ``connection_options`` by name; None where one was not given."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    @property
    def admin_url(self) -> str:
        """Where the admin API is."""
        url = self.given.get("admin_url") or self.environment.get("PULSAR_ADMIN_URL")
        found = url or self._conf.web_url or WEB_SERVICE_URL
        return str(found)

    @property
    def service_url(self) -> str:
        """Where brokers are."""
        url = self.given.get("service_url") or self._variables.get("service_url")
        if url:
            return str(url)
        conf = self._conf
        if conf.use_tls and (conf.broker_url or SERVICE_URL).startswith("pulsar://"):
            raise InvalidValue(
                f"{self.conf_file}: useTls is true, but the URL is plain: use pulsar+ssl://"
            )
        return str(conf.broker_url or SERVICE_URL)

    @cached_property
    def options(self) -> "ClientOptions":
        """The keyword arguments of a client but for its URL. Raises InvalidValue."""
        found: dict[str, object] = {**self._conf.options, **self._variables}
        found.pop("service_url", None)
        for parameter, setting in _SETTINGS.items():
            if self.given.get(parameter) is not None:
                found[setting] = self.given[parameter]
        if self.given.get("tls_provider"):
            raise InvalidValue("--tls-provider names a provider of Java: leave it out")
        plugin, parameters = self.given.get("auth_plugin"), self.given.get("auth_params")
        if plugin:
            from magnetar.client.authentication.plugins import authentication_of  # noqa: PLC0415

            found["authentication"] = authentication_of(plugin, parameters or "")
        elif parameters:
            raise InvalidValue("--auth-params without --auth-plugin: token, basic, tls or oauth2")
        return cast("ClientOptions", found)

    @property
    def client(self) -> "ClientSettings":
        """All keyword arguments of a ``Client``. Raises InvalidValue."""
        return cast("ClientSettings", {**self.options, "service_url": self.service_url})

    def api(self, *, timeout_s: float | None = None) -> "AdminApi":
        """The admin API, asked as the options say. Raises InvalidValue."""
        from magnetar.client.admin_api import AdminApi, Remedies  # noqa: PLC0415 - not for --help

        timeout_s = timeout_s or self.given.get("request_timeout") or TIMEOUT_S
        url = self.admin_url
        if self.given.get("tls_trust_cert_path") and not url.startswith("https:"):
            raise InvalidValue(f"--tls-trust-cert-path is for https://, and the API is at {url}")
        remedies = Remedies(AWAY, UNKNOWN, FORBIDDEN, untrusted=UNTRUSTED, port=PORT)
        return AdminApi(
            url,
            timeout_s=timeout_s,
            remedies=remedies,
            without_effect=_say_without_effect,
            **self.options,
        )

    def rows(self) -> list[tuple[str, str, str]]:
        """Each setting by its key in client.conf, its value, and where it comes from.

        Secrets are not shown. Raises InvalidValue.
        """
        from magnetar.client.service_url import without_secrets  # noqa: PLC0415

        file = "default" if self.conf_file is None else f"file {self.conf_file}"
        shown = self.options.get("authentication")
        values: dict[str, tuple[object, str, str]] = {
            "webServiceUrl": (self.admin_url, "admin_url", "PULSAR_ADMIN_URL"),
            "brokerServiceUrl": (self.service_url, "service_url", "PULSAR_SERVICE_URL"),
            "authPlugin": ("" if shown is None else shown.method, "auth_plugin", ""),
        }
        for key, parameter in _KEYS.items():
            setting = _SETTINGS[parameter]
            value = self.options.get(setting, _DEFAULTS.get(setting, ""))
            values[key] = (value, parameter, f"PULSAR_{setting.upper()}")
        found = []
        for key, (value, parameter, variable) in values.items():
            variables = _WHO if key == "authPlugin" else (variable,)
            set_in = [name for name in variables if self.environment.get(name)]
            if self.given.get(parameter) is not None:
                source = "option"
            elif set_in:
                source = f"environment {set_in[0]}"
            else:
                source = file if self._in_file(key) else "default"
            text = str(value).lower() if isinstance(value, bool) else str(value)
            found.append((key, without_secrets(text), source))
        return found

    def _in_file(self, key: str) -> bool:
        conf = self._conf
        urls = {"webServiceUrl": conf.web_url, "brokerServiceUrl": conf.broker_url}
        if key in urls:
            return urls[key] is not None
        setting = "authentication" if key == "authPlugin" else _SETTINGS[_KEYS[key]]
        return setting in conf.options

    @cached_property
    def _conf(self) -> "ClientConf":
        from magnetar.client.client_conf import ClientConf, read_conf_text  # noqa: PLC0415
        from magnetar.client.environment import conf_text  # noqa: PLC0415

        file = self.conf_file
        if file is None:
            return ClientConf(None, None, use_tls=False, options={}, unknown=())
        found = read_conf_text(conf_text(str(file)), str(file))
        for text in found.unknown:
            click.echo(f"{file}: {text}", err=True)
        return found

    @property
    def conf_file(self) -> Path | None:
        """The ``client.conf`` that is read: of what is named, or as Pulsar's folder has it."""
        named = self.given.get("client_conf") or self.environment.get("PULSAR_CLIENT_CONF")
        if named:
            return Path(named)
        homes = [self.environment.get("PULSAR_HOME"), "."]
        files = [Path(home) / "conf" / "client.conf" for home in homes if home]
        return next((file for file in files if file.is_file()), None)

    @cached_property
    def _variables(self) -> Mapping[str, object]:
        from magnetar.client.environment import variables  # noqa: PLC0415

        return variables(self.environment)

    def over(self, other: "Connection") -> "Connection":
        """What this says, and else what ``other`` does: a verb's options over its group's."""
        said = {name: value for name, value in self.given.items() if value is not None}
        return Connection({**other.given, **said}, self.environment)


_OPTIONS: Final = (
    click.Option(
        ["--admin-url"], metavar="URL", help=f"The admin API. [PULSAR_ADMIN_URL, {WEB_SERVICE_URL}]"
    ),
    click.Option(
        ["--auth-plugin"],
        metavar="NAME",
        help="token, basic, tls or oauth2, or the name of Java's class.",
    ),
    click.Option(
        ["--auth-params"], metavar="TEXT", help="What it takes: token:..., file:///..., JSON."
    ),
    click.Option(["--tls-trust-cert-path"], metavar="FILE", help="PEM: the certificates to trust."),
    click.Option(["--tls-certificate-file"], metavar="FILE", help="PEM: your own, for mutual TLS."),
    click.Option(["--tls-key-file"], metavar="FILE", help="PEM: its key."),
    click.Option(
        ["--tls-allow-insecure"],
        is_flag=True,
        default=None,
        help="Take any certificate: no protection from a false broker.",
    ),
    click.Option(
        [
            "--tls-enable-hostname-verification/--tls-disable-hostname-verification",
            "tls_verify_hostname",
        ],
        default=None,
        help="Whether the certificate has to be for the host's name. [it has]",
    ),
    click.Option(["--tls-provider"], hidden=True),
    click.Option(["--request-timeout"], type=float, metavar="SECONDS", help=f"[{TIMEOUT_S:g}]"),
    click.Option(
        ["--client-conf"],
        type=click.Path(dir_okay=False),
        help="A client.conf. [PULSAR_CLIENT_CONF, conf/client.conf]",
    ),
)
_SERVICE: Final = click.Option(
    ["--url", "--service-url", "service_url"],
    metavar="URL",
    help=f"The broker. [PULSAR_SERVICE_URL, {SERVICE_URL}]",
)
NAMES: Final = frozenset(str(option.name) for option in (*_OPTIONS, _SERVICE))


def connection_parameters(*, broker: bool = False) -> list[click.Parameter]:
    """The options, for a command that is made of a table."""
    return list(map(copy, [*([_SERVICE] if broker else []), *_OPTIONS]))


def connection_options(command: F) -> F:
    """Give a command the options, with ``--url`` of brokers; it takes ``connection``.

    The function below is called with ``connection=Connection(...)`` in place of the options.
    """
    return _given(command, broker=True)


def admin_options(command: F) -> F:
    """Add the options of a command that asks the admin API alone."""
    return _given(command, broker=False)


def _given(command: F, *, broker: bool) -> F:
    @wraps(command)
    def called(*arguments: Any, **given: Any) -> Any:
        taken = {name: given.pop(name) for name in list(given) if name in NAMES}
        return command(*arguments, connection=connection_of(taken), **given)

    parameters = getattr(command, "__click_params__", [])
    # Where click.option keeps them, the last of the help first.
    options = [*reversed(connection_parameters(broker=broker)), *parameters]
    vars(called)["__click_params__"] = options
    return cast("F", called)


def connection_of(given: Mapping[str, Any]) -> Connection:
    """The connection of the command that runs: its own options over those of its groups."""
    mine = Connection(given)
    context = click.get_current_context(silent=True)
    above = context and context.meta.get(__name__)
    found = mine.over(above) if isinstance(above, Connection) else mine
    if context is not None:
        context.meta[__name__] = found
    return found


def _say_without_effect(names: str) -> None:
    click.echo(
        f"Without effect here: {names} (kept and shown, and the broker does nothing about it)",
        err=True,
    )


@contextmanager
def about(topic: str) -> Iterator[None]:
    """Put the topic before what a broker says of it: Pulsar's words do not name it.

    Where there is no broker, say what to do.
    """
    try:
        yield
    except (NotAuthorized, NotFound, TopicTerminated) as error:
        if topic in str(error):
            raise
        raise type(error)(f"{topic}: {error}") from error
    except ConnectionLost as error:
        if not str(error).startswith("cannot connect to"):
            raise
        raise ConnectionLost(f"{error}: {NOWHERE}") from error
