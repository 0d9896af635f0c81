"""Makes the providers that a broker's settings name, each imported when it is used."""

from importlib import import_module
from typing import TYPE_CHECKING

from magnetar.auth.authentication import Authentication, AuthenticationProvider, TlsProvider
from magnetar.auth.key_text import read_key
from magnetar.broker.settings.auth import AuthSettings
from magnetar.clock import Clock

if TYPE_CHECKING:
    from magnetar.auth.tenant_issuers import TenantIssuers
    from magnetar.auth.token import TokenKey


def authentication_of(settings: AuthSettings, clock: Clock) -> Authentication | None:
    """What checks who clients are; None where nobody is asked. Raises InvalidValue."""
    if not settings.enabled:
        return None
    issuers = _issuers(settings, clock)
    makers = {
        "token": lambda: _token(settings, clock, issuers),
        "basic": lambda: _basic(settings),
        "tls": TlsProvider,
    }
    providers = [makers[method]() for method in dict.fromkeys(settings.methods)]
    return Authentication(providers, anonymous_role=settings.anonymous_role, issuers=issuers)


def _issuers(settings: AuthSettings, clock: Clock) -> "TenantIssuers | None":
    if not settings.tenant_issuers:
        return None
    kind = import_module("magnetar.auth.tenant_issuers").TenantIssuers
    own = {*settings.superusers, *settings.proxy_roles, settings.anonymous_role}
    issuers: TenantIssuers = kind(settings.tenant_issuers, clock, own=own)
    return issuers


def _token(
    settings: AuthSettings, clock: Clock, issuers: "TenantIssuers | None"
) -> AuthenticationProvider:
    token = import_module("magnetar.auth.token")
    fixed: list[TokenKey] = []
    if settings.token_secret_key:
        fixed.append(token.secret_key(read_key("tokenSecretKey", settings.token_secret_key)))
    if settings.token_public_key:
        content = read_key("tokenPublicKey", settings.token_public_key)
        fixed.append(token.public_key(content, settings.token_public_algorithm))
    keys = [token.FixedKeys(*fixed)]
    if settings.token_jwks:
        kind = import_module("magnetar.auth.key_set").KeySet
        keys.append(kind(settings.token_jwks, clock))
    rules = token.TokenRules(
        role_claim=settings.token_claim,
        audience_claim=settings.token_audience_claim,
        audience=settings.token_audience,
        clock_skew_s=settings.token_clock_skew_s,
    )
    kind = import_module("magnetar.auth.token_provider").TokenProvider
    provider: AuthenticationProvider = kind(keys, rules, clock, issuers)
    return provider


def _basic(settings: AuthSettings) -> AuthenticationProvider:
    kind = import_module("magnetar.auth.basic").BasicProvider
    provider: AuthenticationProvider = kind(settings.basic_file)
    return provider
