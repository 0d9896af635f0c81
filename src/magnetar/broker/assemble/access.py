"""Who may come in, and what a role may do, where a broker asks."""

from magnetar.auth.authentication import Authentication
from magnetar.auth.authorization import AuthorizationRules
from magnetar.auth.http import HttpSignIn
from magnetar.auth.proxies import ProxyRules
from magnetar.broker.authorization.authorization_service import AuthorizationService
from magnetar.broker.authorization.revocation import Revocation
from magnetar.broker.broker import Broker
from magnetar.broker.config import Config
from magnetar.broker.handlers.sign_in import SignIn
from magnetar.broker.resources import Resources

from .build_context import BuildContext


def http_sign_in(context: BuildContext, authentication: Authentication) -> HttpSignIn:
    """What asks of whoever sends a request who it is."""
    return HttpSignIn(
        authentication,
        context.clock,
        _proxy_rules(context.config),
        metrics=context.config.auth.metrics,
    )


def sign_in(context: BuildContext, authentication: Authentication) -> SignIn:
    """What asks of whoever connects who it is, and again before its credentials expire."""
    settings = context.config.auth
    sign_in = SignIn(
        authentication,
        context.clock,
        proxies=_proxy_rules(context.config),
        original_credentials=settings.original_credentials,
    )
    context.tasks.spawn("credentials", sign_in.keep_fresh(settings.refresh_check_s))
    return sign_in


def authorization_service(
    config: Config, resources: Resources, authentication: Authentication | None
) -> AuthorizationService | None:
    """What says which role may do what; None where everybody may do everything."""
    auth = config.auth
    if not auth.authorization:
        return None
    assert authentication is not None, "the configuration is refused without"
    rules = AuthorizationRules(
        frozenset(auth.superusers),
        wildcards=auth.wildcards,
        tenant_roles=authentication.tenant_roles,
    )
    return AuthorizationService(rules, resources)


def revoke(
    authorization: AuthorizationService, context: BuildContext, broker: Broker, resources: Resources
) -> None:
    """Take from clients what their roles may not have any more, from now on."""
    revocation = Revocation(
        authorization,
        resources,
        topics=broker.registry.loaded,
        sessions=broker.sessions,
        clock=context.clock,
        tasks=context.tasks,
        interval_s=context.config.auth.refresh_check_s,
    )
    context.stack.callback(revocation.close)
    context.tasks.spawn("revocation", revocation.run())


def _proxy_rules(config: Config) -> ProxyRules:
    return ProxyRules(frozenset(config.auth.proxy_roles), strict=config.auth.authorization)
