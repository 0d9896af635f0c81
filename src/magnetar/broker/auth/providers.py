"""Makes the providers that a broker's settings name, each imported when it is used."""

from importlib import import_module
from typing import TYPE_CHECKING

from magnetar.broker.settings.auth import AuthSettings
from magnetar.clock import Clock

from .authentication import Authentication, AuthenticationProvider
from .key_text import read_key
from .tls import TlsProvider

if TYPE_CHECKING:
    from .token import TokenKey


def authentication_of(settings: AuthSettings, clock: Clock) -> Authentication | None:
    """What checks who clients are; None where nobody is asked. Raises InvalidValue."""
    if not settings.enabled:
        return None
    makers = {"token": _token, "basic": _basic, "tls": _tls}
    providers = [makers[method](settings, clock) for method in dict.fromkeys(settings.methods)]
    return Authentication(providers, anonymous_role=settings.anonymous_role)


def _token(settings: AuthSettings, clock: Clock) -> AuthenticationProvider:
    token = import_module("magnetar.broker.auth.token")
    fixed: list[TokenKey] = []
    if settings.token_secret_key:
        fixed.append(token.secret_key(read_key("tokenSecretKey", settings.token_secret_key)))
    if settings.token_public_key:
        content = read_key("tokenPublicKey", settings.token_public_key)
        fixed.append(token.public_key(content, settings.token_public_algorithm))
    keys = [token.FixedKeys(*fixed)]
    if settings.token_jwks:
        kind = import_module("magnetar.broker.auth.key_set").KeySet
        keys.append(kind(settings.token_jwks, clock))
    rules = token.TokenRules(
        role_claim=settings.token_claim,
        audience_claim=settings.token_audience_claim,
        audience=settings.token_audience,
        clock_skew_s=settings.token_clock_skew_s,
    )
    provider: AuthenticationProvider = token.TokenProvider(keys, rules, clock)
    return provider


def _basic(settings: AuthSettings, _: Clock) -> AuthenticationProvider:
    kind = import_module("magnetar.broker.auth.basic").BasicProvider
    provider: AuthenticationProvider = kind(settings.basic_file)
    return provider


def _tls(_settings: AuthSettings, _clock: Clock) -> AuthenticationProvider:
    return TlsProvider()
