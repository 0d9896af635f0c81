"""Roles that a tenant's own issuer gives: ``SUBJECT@TENANT``, confined to that tenant. Pure.

No tenant's name has an ``@``, so that the last one in such a role tells the tenant, whatever the
subject is. Who else is to give a role of that form is refused while the tenant has an issuer.
"""

from collections.abc import Collection, Iterable
from typing import Final

from .access import Access

TENANT_SUBJECT_LENGTH_MAX: Final = 255
"""Characters of a subject, which stand in the log, in permissions and in stats."""

_OPEN: Final = (Access.PUBLIC, Access.AUTHENTICATED)
# Functions run with the credentials of the worker, which are not the tenant's.
_NEVER: Final = (
    *(Access.SUPERUSER, Access.FUNCTIONS, Access.SOURCES, Access.SINKS, Access.PACKAGES),
)


class TenantRoles:
    """Which tenants have issuers of their own."""

    def __init__(self, tenants: Iterable[str] = ()) -> None:
        self._current = frozenset(tenants)
        self._known = set(self._current)  # Grows only: its roles stay confined when one goes.

    def replace(self, tenants: Iterable[str]) -> None:
        """From now on these have issuers. Roles of others have no access any more."""
        self._current = frozenset(tenants)
        self._known |= self._current

    def tenant_of(self, role: str) -> str:
        """The tenant that a role is confined to; "" for any other role."""
        _, at, tenant = role.rpartition("@")
        return tenant if at and tenant in self._known else ""

    def bar(self, roles: Collection[str], access: Access, tenant: str) -> bool:
        """Whether one of these roles is for another tenant, or for what none of its kind has."""
        if access in _OPEN:
            return False
        return any(self._bars(own, access, tenant) for own in map(self.tenant_of, roles) if own)

    def _bars(self, own: str, access: Access, tenant: str) -> bool:
        return own != tenant or access in _NEVER or own not in self._current


def role_of(subject: str, tenant: str) -> str:
    return f"{subject}@{tenant}"


def why_no_subject(subject: str) -> str:
    """Why a role cannot be made of what a tenant's issuer has signed; "" where it can."""
    if len(subject) > TENANT_SUBJECT_LENGTH_MAX:
        return f"it has more than {TENANT_SUBJECT_LENGTH_MAX} characters"
    if not subject.isprintable() or subject != subject.strip():
        return "it has characters that cannot be seen"
    return ""
