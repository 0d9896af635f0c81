"""The settings of a broker that say who may come in, and how clients show who they are."""

from collections.abc import Mapping
from typing import Final

from magnetar.late_dataclass import dataclass

from .setting import refusal_texts, setting

METHODS: Final = {
    "AuthenticationProviderToken": "token",
    "AuthenticationProviderBasic": "basic",
    "AuthenticationProviderTls": "tls",
}
"""Pulsar's classes that check what clients show, without their packages, and their methods."""

_INIT: Final = "`magnetar init-auth` writes a configuration that works"
_CHECKED: Final = (
    "authenticationProviders",
    "anonymousUserRole",
    "superUserRoles",
    "proxyRoles",
    "tokenSecretKey",
    "tokenPublicKey",
    "tokenJwks",
    "tenantTokenIssuers",
    "basicAuthConf",
)
"""What makes no sense while nobody is asked who it is, unless that was said in so many words."""
_INSTEAD: Final = {
    "AuthenticationProviderOpenID": "give AuthenticationProviderToken the issuer's keys by "
    "tokenJwks instead",
}


@dataclass(frozen=True, slots=True)
class AuthSettings:
    """Who clients are, and who among them is trusted with what."""

    enabled: bool = setting(
        "authenticationEnabled", False, "clients must show who they are (docs/security.md)"
    )
    providers: tuple[str, ...] = setting(
        "authenticationProviders",
        (),
        "what checks it: some of AuthenticationProviderToken, AuthenticationProviderBasic, "
        "AuthenticationProviderTls, with or without Java's package in front",
    )
    anonymous_role: str = setting(
        "anonymousUserRole",
        "",
        "the role of clients that show nothing; without it they are refused",
    )
    refresh_check_s: int = setting(
        "authenticationRefreshCheckSeconds",
        60,
        "how often clients are looked for whose credentials ended, to be asked for new ones",
        minimum=1,
    )
    authorization: bool = setting(
        "authorizationEnabled", False, "a role may only do what it was granted"
    )
    wildcards: bool = setting(
        "authorizationAllowWildcardsMatching",
        False,
        "a permission of a role that begins or ends with * is one of all roles that match",
    )
    superusers: tuple[str, ...] = setting("superUserRoles", (), "roles that may do everything")
    proxy_roles: tuple[str, ...] = setting(
        "proxyRoles", (), "roles of proxies, which say for whom they ask"
    )
    original_credentials: bool = setting(
        "authenticateOriginalAuthData",
        False,
        "what a proxy passes on of its client's credentials is checked too",
    )
    metrics: bool = setting(
        "authenticateMetricsEndpoint", False, "who reads /metrics must show who it is"
    )
    probes: bool = setting(
        "authenticateHealthEndpoints",
        True,
        "who asks /admin/v2/brokers/health and /ready must show who it is; false: anybody may ask, "
        "such as a probe; not Pulsar's",
    )
    token_secret_key: str = setting(
        "tokenSecretKey",
        "",
        "the key of tokens of HS256, HS384, HS512: file:///PATH, data:;base64,KEY or KEY in base64",
        secret=True,
    )
    token_public_key: str = setting(
        "tokenPublicKey", "", "the public key of tokens of RS, PS, ES: the same, PEM or DER"
    )
    token_public_algorithm: str = setting(
        "tokenPublicAlg", "RS256", "an algorithm of that key, which says what kind of key it is"
    )
    token_jwks: str = setting(
        "tokenJwks",
        "",
        "keys of tokens by their kid: a file or an http(s) URL of a JSON Web Key Set; not Pulsar's",
    )
    tenant_issuers: str = setting(
        "tenantTokenIssuers",
        "",
        "file of the issuers that tenants bring, and their keys, in JSON (docs/security.md); not "
        "Pulsar's",
    )
    token_claim: str = setting("tokenAuthClaim", "sub", "the claim of a token that has the role")
    token_audience_claim: str = setting(
        "tokenAudienceClaim", "", "the claim of a token that has its audience"
    )
    token_audience: str = setting(
        "tokenAudience", "", "the audience that this broker is, among those of a token's claim"
    )
    token_clock_skew_s: int = setting(
        "tokenAllowedClockSkewSeconds", 0, "how far the clocks of issuers of tokens may be off"
    )
    basic_file: str = setting(
        "basicAuthConf",
        "",
        "users and passwords, as htpasswd writes them: a file, or data:;base64,",
        secret=True,
    )
    client_plugin: str = setting(
        "brokerClientAuthenticationPlugin",
        "",
        "how this broker, asking others, and its functions worker show who they are: a plugin of "
        "Pulsar's clients",
    )
    client_parameters: str = setting(
        "brokerClientAuthenticationParameters",
        "",
        "what they show, as that plugin takes it",
        secret=True,
    )

    @property
    def client_settings(self) -> dict[str, str]:
        """What the broker's own client is set with, by the names of Java's client."""
        if short_name(self.client_plugin) in ("", "AuthenticationDisabled"):
            return {}
        return {"authPluginClassName": self.client_plugin, "authParams": self.client_parameters}

    @property
    def has_client(self) -> bool:
        """Whether the functions worker would be let in."""
        return bool(self.client_settings or self.anonymous_role)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of the providers, in their order."""
        return tuple(METHODS[short_name(name)] for name in self.providers)


def short_name(name: str) -> str:
    """A class without its package."""
    return name.rpartition(".")[2]


def refusals(auth: AuthSettings, sources: Mapping[str, str]) -> list[str]:
    """Why a broker must not start with these settings, each with the remedy.

    ``sources``: where each came from, by key; one at its default is absent.
    """
    found = [
        ("authenticationProviders", name, _instead(name))
        for name in auth.providers
        if short_name(name) not in METHODS
    ]
    if auth.enabled and not auth.providers:
        remedy = f"nothing would check who clients are: set authenticationProviders, too; {_INIT}"
        found.append(("authenticationEnabled", "true", remedy))
    if auth.enabled and not found:
        found += _without_keys(auth)
    if not auth.enabled and "authenticationEnabled" not in sources:
        found += [
            (key, "...", f"it asks nobody without authenticationEnabled=true: set that; {_INIT}")
            for key in _CHECKED
            if key in sources
        ]
    if auth.authorization and not auth.enabled:
        remedy = f"nobody is asked for a role: set authenticationEnabled=true, too; {_INIT}"
        found.append(("authorizationEnabled", "true", remedy))
    if auth.authorization and not auth.superusers:
        remedy = f"nobody could grant anything: name superUserRoles, too; {_INIT}"
        found.append(("authorizationEnabled", "true", remedy))
    if auth.tenant_issuers and auth.enabled and not auth.authorization:
        remedy = "nothing would confine whom tenants let in: set authorizationEnabled=true, too"
        found.append(("tenantTokenIssuers", auth.tenant_issuers, remedy))
    if auth.tenant_issuers and auth.enabled and "token" not in auth.methods:
        remedy = "nothing checks tokens: name AuthenticationProviderToken in "
        remedy += "authenticationProviders, too"
        found.append(("tenantTokenIssuers", auth.tenant_issuers, remedy))
    if "*" in auth.superusers:
        remedy = "* is no wildcard there, as in Pulsar: name the roles"
        found.append(("superUserRoles", ",".join(auth.superusers), remedy))
    return refusal_texts(found, sources)


def _without_keys(auth: AuthSettings) -> list[tuple[str, str, str]]:
    """Key, value and remedy of providers that have nothing to check with."""
    found = []
    providers = ",".join(auth.providers)
    if "token" in auth.methods and not (
        auth.token_secret_key or auth.token_public_key or auth.token_jwks or auth.tenant_issuers
    ):
        remedy = f"set tokenSecretKey, tokenPublicKey or tokenJwks; {_INIT}"
        found.append(("authenticationProviders", providers, remedy))
    if bool(auth.token_audience_claim) != bool(auth.token_audience):
        remedy = "set tokenAudience and tokenAudienceClaim both, or neither"
        found.append(("tokenAudience", auth.token_audience, remedy))
    if "basic" in auth.methods and not auth.basic_file:
        remedy = "set basicAuthConf to a file that htpasswd made"
        found.append(("authenticationProviders", providers, remedy))
    return found


def _instead(name: str) -> str:
    known = f"use some of {', '.join(METHODS)}"
    return _INSTEAD.get(short_name(name), known)
