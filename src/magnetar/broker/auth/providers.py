"""Makes the providers that a broker's settings name, each imported when it is used."""

from importlib import import_module

from magnetar.broker.auth_settings import AuthSettings
from magnetar.clock import Clock
from magnetar.errors import InvalidValue

from .authentication import Authentication, AuthenticationProvider
from .key_text import read_key


def authentication_of(settings: AuthSettings, clock: Clock) -> Authentication | None:
    """What checks who clients are; None where nobody is asked. Raises InvalidValue."""
    if not settings.enabled:
        return None
    makers = {"token": _token}
    providers = []
    for method in dict.fromkeys(settings.methods):
        if method not in makers:
            raise InvalidValue(f"authenticationProviders: there is no provider of {method} yet")
        providers.append(makers[method](settings, clock))
    return Authentication(providers, anonymous_role=settings.anonymous_role)


def _token(settings: AuthSettings, clock: Clock) -> AuthenticationProvider:
    token = import_module("magnetar.broker.auth.token")
    keys = []
    if settings.token_jwks:
        raise InvalidValue("tokenJwks: key sets are not read yet: use tokenPublicKey")
    if settings.token_secret_key:
        keys.append(token.secret_key(read_key("tokenSecretKey", settings.token_secret_key)))
    if settings.token_public_key:
        content = read_key("tokenPublicKey", settings.token_public_key)
        keys.append(token.public_key(content, settings.token_public_algorithm))
    rules = token.TokenRules(
        role_claim=settings.token_claim,
        audience_claim=settings.token_audience_claim,
        audience=settings.token_audience,
        clock_skew_s=settings.token_clock_skew_s,
    )
    provider: AuthenticationProvider = token.TokenProvider(token.fixed_keys(*keys), rules, clock)
    return provider
