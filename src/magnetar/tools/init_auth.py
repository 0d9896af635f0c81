"""``magnetar init-auth``: keys, tokens and a configuration of a broker that knows its clients."""

import os
from pathlib import Path
from typing import Final

import click

from magnetar.errors import InvalidValue
from magnetar.tools.token_keys import PAIRS, SECRETS, new_pair, new_secret, private_key, write_new
from magnetar.tools.tokens import signed

SUPERUSER: Final = "superuser"
WORKER: Final = "functions-worker"
ADMIN: Final = "admin"


@click.command("init-auth")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default="auth")
@click.option(
    "--algorithm",
    type=click.Choice([*SECRETS, *PAIRS]),
    default="HS256",
    show_default=True,
    help="HS: one secret. RS, PS, ES: a key that signs, and another that the broker checks with.",
)
@click.option(
    "--role",
    "roles",
    multiple=True,
    metavar="ROLE",
    help="Another role to make a token of. May be given again.",
)
def init_auth(folder: Path, algorithm: str, roles: tuple[str, ...]) -> None:
    """Make what a broker needs that asks its clients who they are: in a new FOLDER.

    It gets keys, tokens and a configuration for `magnetar standalone --conf`. Only you may read it.

    Example: magnetar init-auth ./auth --role orders-app
    """
    folder = folder.absolute()
    odd = [role for role in roles if not role.strip() or set(role) & set("/\\\0\n,=")]
    if odd:
        raise InvalidValue(f"--role {odd[0]!r}: a role has no slash, comma or equals sign here")
    try:
        folder.mkdir(parents=True, mode=0o700)
    except FileExistsError:
        raise InvalidValue(f"{folder} is there already: name a new folder") from None
    except OSError as error:
        raise InvalidValue(f"cannot make {folder}: {error.strerror}") from None
    os.chmod(folder, 0o700)  # noqa: PTH101 - whatever the mask was
    if algorithm in SECRETS:
        secret = new_secret(algorithm)
        write_new(folder / "secret.key", secret)
        key: object = secret
        checks = {"tokenSecretKey": (folder / "secret.key").as_uri()}
    else:
        private, public = new_pair(algorithm)
        write_new(folder / "private.key", private)
        write_new(folder / "public.key", public)
        key = private_key(private)
        checks = {"tokenPublicKey": (folder / "public.key").as_uri(), "tokenPublicAlg": algorithm}
    for role in dict.fromkeys((SUPERUSER, ADMIN, WORKER, *roles)):
        write_new(folder / f"{role}.token", signed(role, key, algorithm).encode())
    write_new(folder / "broker.conf", _properties(_broker_conf(folder, checks)))
    write_new(folder / "client.conf", _properties(_client_conf(folder)))
    click.echo(_next_steps(folder, signs="secret.key" if algorithm in SECRETS else "private.key"))


def _broker_conf(folder: Path, checks: dict[str, str]) -> dict[str, str]:
    plugins = "org.apache.pulsar"
    return {
        "authenticationEnabled": "true",
        "authenticationProviders": f"{plugins}.broker.authentication.AuthenticationProviderToken",
        **checks,
        "authorizationEnabled": "true",
        "superUserRoles": f"{SUPERUSER},{WORKER}",
        "brokerClientAuthenticationPlugin": f"{plugins}.client.impl.auth.AuthenticationToken",
        "brokerClientAuthenticationParameters": (folder / f"{WORKER}.token").as_uri(),
    }


def _client_conf(folder: Path) -> dict[str, str]:
    return {
        "webServiceUrl": "http://localhost:8080",
        "brokerServiceUrl": "pulsar://localhost:6650",
        "authPlugin": "org.apache.pulsar.client.impl.auth.AuthenticationToken",
        "authParams": (folder / f"{SUPERUSER}.token").as_uri(),
    }


def _properties(pairs: dict[str, str]) -> bytes:
    return "".join(f"{key}={value}\n" for key, value in pairs.items()).encode()


def _next_steps(folder: Path, *, signs: str) -> str:
    return f"""Only you can read what is in {folder}:
  {signs:<22} signs tokens: who has it can be anybody
  {SUPERUSER}.token        may do everything
  {ADMIN}.token            may do nothing yet: make the role {ADMIN} an admin of a tenant
  {WORKER}.token may do everything; the broker's functions worker shows it
  broker.conf            what the broker needs, to go on with or to add to yours
  client.conf            what pulsar-admin and our commands need to be the superuser

Next:
  magnetar standalone --conf {folder}/broker.conf
  magnetar tokens create --subject ROLE --{"secret" if signs == "secret.key" else "private"}-key \
{folder}/{signs}
docs/security.md says how roles get their permissions."""
