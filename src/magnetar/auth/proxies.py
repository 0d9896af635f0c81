"""For whom a proxy asks: which role counts, and whether it may be said. Pure."""

from typing import NamedTuple

from magnetar.errors import NotAuthorized

from .authorization import Principal

INVALID_ROLES = "Invalid roles."


class ProxyRules(NamedTuple):
    """Which roles are proxies. ``strict``: a role that may not speak for another is refused.

    It is where there is authorisation; without, what such a role says is not believed.
    """

    proxy_roles: frozenset[str] = frozenset()
    strict: bool = False

    def principal(self, role: str, original: str, *, may_repeat: bool = False) -> Principal:
        """Who ``role`` is when it says that it asks for ``original``; "": for nobody.

        ``may_repeat``: it may name itself. Raises NotAuthorized.
        """
        if role in self.proxy_roles and original and original not in self.proxy_roles:
            return Principal(original, role)
        if not self.strict:
            return Principal(role)
        if role in self.proxy_roles:
            raise NotAuthorized(INVALID_ROLES)
        if original and not (may_repeat and original == role):
            raise NotAuthorized(INVALID_ROLES)
        return Principal(role)
