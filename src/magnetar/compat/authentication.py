"""Who the client is: the classes of ``pulsar-client``, each with ours as its ``auth``."""

import json
from collections.abc import Callable, Mapping
from typing import Final

from magnetar.client.authentication.authentication import Authentication as OurAuthentication
from magnetar.client.authentication.basic import AuthenticationBasic as OurBasic
from magnetar.client.authentication.oauth2 import AuthenticationOAuth2 as OurOAuth2
from magnetar.client.authentication.tls import AuthenticationTls as OurTls
from magnetar.client.authentication.token import AuthenticationToken as OurToken
from magnetar.errors import NotAuthenticated

from .checks import check_type
from .enums import Result
from .errors import exception, raises_theirs

_JAVA: Final = "org.apache.pulsar.client.impl.auth.Authentication"


class Authentication:
    """How the client shows who it is: by the name of a plugin, or one of the classes below."""

    auth: OurAuthentication

    @raises_theirs
    def __init__(self, dynamicLibPath: str, authParamsString: str) -> None:
        """``dynamicLibPath`` is ``token``, ``tls``, ``basic`` or ``oauth2``, or Java's name of it.

        Raises OperationNotSupported for any other: C++ libraries cannot be loaded here.
        """
        check_type(str, dynamicLibPath, "dynamicLibPath")
        check_type(str, authParamsString, "authParamsString")
        name = dynamicLibPath.removeprefix(_JAVA).lower()
        if name not in _PLUGINS:
            raise exception(
                Result.OperationNotSupported,
                f"Authentication({dynamicLibPath!r}): libraries cannot be loaded; there are "
                f"{', '.join(_PLUGINS)}",
            )
        self.auth = _PLUGINS[name](authParamsString)


class AuthenticationTLS(Authentication):
    """A client's certificate."""

    @raises_theirs
    def __init__(self, certificate_path: str, private_key_path: str) -> None:
        """Two files of PEM. Raises ValueError."""
        check_type(str, certificate_path, "certificate_path")
        check_type(str, private_key_path, "private_key_path")
        self.auth = OurTls(certificate_path, private_key_path)


class AuthenticationToken(Authentication):
    """A token, or a function that returns one."""

    @raises_theirs
    def __init__(self, token: str | Callable[[], str]) -> None:
        """Raises ValueError for anything else."""
        if not (isinstance(token, str) or callable(token)):
            raise ValueError(
                "Argument token is expected to be of type 'str' or a function returning 'str'"
            )
        self.auth = OurToken(_supplied(token) if callable(token) else token)


class AuthenticationAthenz(Authentication):
    """Athenz, which our client does not have."""

    def __init__(self, auth_params_string: str) -> None:
        """Raises OperationNotSupported."""
        check_type(str, auth_params_string, "auth_params_string")
        raise exception(
            Result.OperationNotSupported,
            "AuthenticationAthenz: use a token, a certificate, Basic or OAuth 2.0",
        )


class AuthenticationOauth2(Authentication):
    """OAuth 2.0 with client credentials."""

    @raises_theirs
    def __init__(self, auth_params_string: str) -> None:
        """JSON with ``issuer_url`` and ``private_key``; ``audience`` and ``scope`` may be there.

        Raises ValueError for what is no JSON, RuntimeError for what lacks one of the two.
        """
        check_type(str, auth_params_string, "auth_params_string")
        self.auth = _oauth2(auth_params_string)


class AuthenticationBasic(Authentication):
    """A user and a password."""

    @raises_theirs
    def __init__(
        self,
        username: str | None = None,
        password: str | None = None,
        method: str = "basic",
        auth_params_string: str | None = None,
    ) -> None:
        """``auth_params_string`` is JSON with the three, in place of them. Raises ValueError."""
        if auth_params_string is not None:
            check_type(str, auth_params_string, "auth_params_string")
            self.auth = _basic(auth_params_string)
            return
        check_type(str, username, "username")
        check_type(str, password, "password")
        check_type(str, method, "method")
        self.auth = OurBasic(str(username), str(password), method=method)


def _supplied(token: Callable[[], str]) -> Callable[[], str]:
    """Wrap a function: what it raises is reported by its text, as pulsar-client does."""

    def supply() -> str:
        try:
            return token()
        except Exception as error:
            raise NotAuthenticated(
                f"token supplier failed: {type(error).__name__}: {error}"
            ) from error

    return supply


def _token(given: str) -> OurAuthentication:
    kind, _, value = given.partition(":")
    if kind == "file":
        return OurToken(file=value.removeprefix("//"))
    return OurToken(value if kind == "token" else given)


def _tls(given: str) -> OurAuthentication:
    if given.lstrip().startswith("{"):
        params = _json("tls", given)
    else:
        params = dict(pair.partition(":")[::2] for pair in given.split(","))
    return OurTls(_param("tls", params, "tlsCertFile"), _param("tls", params, "tlsKeyFile"))


def _basic(given: str) -> OurAuthentication:
    params = _json("basic", given)
    return OurBasic(
        _param("basic", params, "username"),
        _param("basic", params, "password"),
        method=params.get("method", "basic"),
    )


def _oauth2(given: str) -> OurAuthentication:
    params = _json("oauth2", given)
    return OurOAuth2(
        _param("oauth2", params, "issuer_url"),
        _param("oauth2", params, "private_key"),
        audience=params.get("audience"),
        scope=params.get("scope"),
    )


_PLUGINS: Final[Mapping[str, Callable[[str], OurAuthentication]]] = {
    "token": _token,
    "tls": _tls,
    "basic": _basic,
    "oauth2": _oauth2,
}


def _json(provider: str, text: str) -> dict[str, str]:
    """Raises ValueError; the text may hold a secret, so it is not shown."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"The parameters of the {provider} provider are no JSON object")
    return found


def _param(provider: str, params: Mapping[str, str], name: str) -> str:
    if not params.get(name):
        raise RuntimeError(f"No {name} provided for {provider} provider")
    return params[name]
