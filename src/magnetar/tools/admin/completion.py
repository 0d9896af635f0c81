"""Names for the shell's completion: tenants, namespaces, topics; none where nobody answers."""

import click

from magnetar.client.admin_api import AdminApi, segment
from magnetar.errors import MagnetarError
from magnetar.tools.connection import NAMES, Connection

_TIMEOUT_S = 1.0


def complete(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete a parameter that begins so."""
    given: dict[str, object] = {}
    above: click.Context | None = context
    while above is not None:  # The innermost command goes first.
        own = {name.rpartition(".")[2]: value for name, value in above.params.items()}
        given = {name: value for name, value in own.items() if name in NAMES and value} | given
        above = above.parent
    kind = param.type.name
    try:
        api = Connection(given).api(timeout_s=_TIMEOUT_S)
        if kind == "NAMESPACE":
            names = _namespaces(api, incomplete)
        elif kind == "TOPIC":
            names = _topics(api, incomplete)
        elif param.name in {"tenant", "cluster"}:
            names = api.get(f"/admin/v2/{param.name}s")
        else:
            return []
    except MagnetarError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def _namespaces(api: AdminApi, incomplete: str) -> list[str]:
    tenant, slash, _ = incomplete.partition("/")
    if not slash:
        return [f"{name}/" for name in api.get("/admin/v2/tenants")]
    return list(api.get(f"/admin/v2/namespaces/{segment(tenant)}"))


def _topics(api: AdminApi, incomplete: str) -> list[str]:
    domain, separator, rest = incomplete.rpartition("://")
    before = f"{domain}{separator}"
    parts = rest.split("/")
    if len(parts) < 3:
        return [f"{before}{name}" for name in _namespaces(api, rest)]
    names = api.get(f"/admin/v2/namespaces/{segment(parts[0])}/{segment(parts[1])}/topics")
    return [name if before else name.partition("://")[2] for name in names]
