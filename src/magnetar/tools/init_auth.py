"""``magnetar init-auth``: keys, tokens, certificates and a configuration of a secured broker."""

import os
import socket
from datetime import timedelta
from pathlib import Path
from typing import Final

import click

from magnetar.errors import InvalidValue
from magnetar.tools import token_keys
from magnetar.tools.tokens import signed

SUPERUSER: Final = "superuser"
WORKER: Final = "functions-worker"
ADMIN: Final = "admin"
KID: Final = "1"
HERE: Final = ("localhost", "127.0.0.1", "::1")
"""Names of the machine itself, which a certificate always has."""


@click.command("init-auth")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default="auth")
@click.option(
    "--algorithm",
    type=click.Choice([*token_keys.SECRETS, *token_keys.PAIRS]),
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
@click.option(
    "--host",
    "hosts",
    multiple=True,
    help="A name or address by which other machines reach the broker: it then listens for them, "
    "with TLS only. May be given again.",
)
@click.option(
    "-e",
    "--expiry-time",
    "expiry",
    default="1y",
    show_default=True,
    help="How long tokens and the broker's certificate hold: 12h, 30d, 1y.",
)
@click.option(
    "--renew", is_flag=True, help="Make the tokens and the certificate of a FOLDER again, longer."
)
@click.option(
    "--kid",
    help="How tokens name a private key, which may be renewed so: docs/rotation.md. [1]",
)
def init_auth(
    *,
    folder: Path,
    algorithm: str,
    roles: tuple[str, ...],
    hosts: tuple[str, ...],
    expiry: str,
    renew: bool,
    kid: str | None,
) -> None:
    """Make what a broker needs that asks its clients who they are: in a new FOLDER.

    It gets keys, tokens, certificates for TLS and a configuration for `magnetar standalone --conf`.
    Only you may read it. With --renew the tokens and the certificate of such a folder are made
    again, with the keys that are there; a broker and its clients take them without a restart.

    Example: magnetar init-auth ./auth --role orders-app --host broker.example.com
    """
    folder = folder.absolute()
    invalid = [role for role in roles if not role.strip() or set(role) & set("/\\\0\n,=")]
    if invalid:
        raise InvalidValue(f"--role {invalid[0]!r}: a role has no slash, comma or equals sign here")
    lasts = token_keys.span_of(expiry)
    if renew:
        if hosts:
            raise InvalidValue("--host is for a new folder: --renew keeps the names that are there")
        _renew(folder, roles, expiry, kid)
        return
    kid = kid or KID
    try:
        folder.mkdir(parents=True, mode=0o700)
    except FileExistsError:
        raise InvalidValue(
            f"{folder} is there already: name a new folder, or --renew what is in it"
        ) from None
    except OSError as error:
        raise InvalidValue(f"cannot make {folder}: {error.strerror}") from None
    os.chmod(folder, 0o700)  # noqa: PTH101 - whatever the mask was
    if algorithm in token_keys.SECRETS:
        secret = token_keys.new_secret(algorithm)
        token_keys.write_new(folder / "secret.key", secret)
        key: object = secret
        headers: dict[str, str] = {}
        checks = {"tokenSecretKey": (folder / "secret.key").as_uri()}
    else:
        private, public = token_keys.new_pair(algorithm)
        token_keys.write_new(folder / "private.key", private)
        token_keys.write_new(folder / "public.key", public)
        token_keys.write_new(folder / "keys.json", token_keys.key_set({kid: public}))
        key, headers = token_keys.private_key(private), {"kid": kid}
        checks = {"tokenJwks": (folder / "keys.json").as_uri()}
    for role in dict.fromkeys((SUPERUSER, ADMIN, WORKER, *roles)):
        token = signed(role, key, algorithm, expiry_time=expiry, headers=headers)
        token_keys.write_new(folder / f"{role}.token", token.encode())
    _certificates(folder, hosts, lasts)
    token_keys.write_new(folder / "broker.conf", _properties(_broker_conf(folder, checks, hosts)))
    token_keys.write_new(folder / "client.conf", _properties(_client_conf(folder, hosts)))
    signs = "secret.key" if algorithm in token_keys.SECRETS else "private.key"
    click.echo(_next_steps(folder, signs=signs, expiry=expiry, kid=kid))


def _certificates(folder: Path, hosts: tuple[str, ...], lasts: timedelta) -> None:
    from magnetar.tools import certificates  # noqa: PLC0415 - not for --help

    authority, authority_key = certificates.new_authority(f"Authority of {folder.name}")
    names = list(dict.fromkeys((*hosts, *HERE, socket.gethostname())))
    try:
        certificate, key = certificates.issued(authority, authority_key, names, lasts)
    except (ValueError, OverflowError) as error:
        raise InvalidValue(
            f"no certificate can be made of --host and --expiry-time: {error}"
        ) from None
    token_keys.write_new(folder / "ca.pem", authority)
    token_keys.write_new(folder / "ca.key", authority_key)
    token_keys.write_new(folder / "broker.pem", certificate)
    token_keys.write_new(folder / "broker.key", key)


def _renew(folder: Path, roles: tuple[str, ...], expiry: str, kid: str | None) -> None:
    """Make tokens and the certificate again. What can go wrong is found before one is replaced."""
    import jwt  # noqa: PLC0415 - not for --help

    from magnetar.tools import certificates  # noqa: PLC0415 - as above

    secret = folder / "secret.key"
    try:
        signs = (secret if secret.exists() else folder / "private.key").read_bytes()
        header = jwt.get_unverified_header((folder / f"{SUPERUSER}.token").read_text())
        authority, authority_key = ((folder / name).read_bytes() for name in ("ca.pem", "ca.key"))
        hosts = certificates.hosts_of((folder / "broker.pem").read_bytes())
        pair = certificates.issued(authority, authority_key, hosts, token_keys.span_of(expiry))
    except (OSError, ValueError, jwt.PyJWTError) as error:
        raise InvalidValue(f"{folder} is no folder that init-auth made: {error}") from None
    key = signs if secret.exists() else token_keys.private_key(signs)
    named = kid or header.get("kid")
    headers = {"kid": named} if named else {}
    known = sorted(file.stem for file in folder.glob("*.token"))
    tokens = {
        f"{role}.token": signed(
            role, key, header["alg"], expiry_time=expiry, headers=headers
        ).encode()
        for role in dict.fromkeys((*known, *roles))
    }
    # The key first: a broker that looks in between finds no pair, and goes on with what it has.
    for name, content in {"broker.key": pair[1], "broker.pem": pair[0], **tokens}.items():
        token_keys.replace(folder / name, content)
    click.echo(f"Made again, to hold for {expiry}: broker.pem, {', '.join(tokens)}")


def _broker_conf(folder: Path, checks: dict[str, str], hosts: tuple[str, ...]) -> dict[str, str]:
    plugins = "org.apache.pulsar"
    tls = {
        "brokerServicePortTls": "6651",
        "webServicePortTls": "8443",
        "tlsCertificateFilePath": str(folder / "broker.pem"),
        "tlsKeyFilePath": str(folder / "broker.key"),
    }
    if hosts:
        tls |= {
            "bindAddress": "0.0.0.0",  # noqa: S104 - for those that have a token, with TLS
            "advertisedAddress": hosts[0],
            "brokerServicePort": "-1",
            "webServicePort": "-1",
            "brokerClientTlsEnabled": "true",
            "brokerClientTrustCertsFilePath": str(folder / "ca.pem"),
        }
    return {
        "authenticationEnabled": "true",
        "authenticationProviders": f"{plugins}.broker.authentication.AuthenticationProviderToken",
        **checks,
        "authorizationEnabled": "true",
        "superUserRoles": f"{SUPERUSER},{WORKER}",
        "brokerClientAuthenticationPlugin": f"{plugins}.client.impl.auth.AuthenticationToken",
        "brokerClientAuthenticationParameters": (folder / f"{WORKER}.token").as_uri(),
        **tls,
    }


def _client_conf(folder: Path, hosts: tuple[str, ...]) -> dict[str, str]:
    host = hosts[0] if hosts else "localhost"
    host = f"[{host}]" if ":" in host else host
    return {
        "webServiceUrl": f"https://{host}:8443",
        "brokerServiceUrl": f"pulsar+ssl://{host}:6651",
        "tlsTrustCertsFilePath": str(folder / "ca.pem"),
        "authPlugin": "org.apache.pulsar.client.impl.auth.AuthenticationToken",
        "authParams": (folder / f"{SUPERUSER}.token").as_uri(),
    }


def _properties(pairs: dict[str, str]) -> bytes:
    return "".join(f"{key}={value}\n" for key, value in pairs.items()).encode()


def _next_steps(folder: Path, *, signs: str, expiry: str, kid: str) -> str:
    option = "--secret-key" if signs == "secret.key" else f"--headers kid={kid} --private-key"
    return f"""Only you can read what is in {folder}:
  {signs:<22} signs tokens: who has it can be anybody
  {SUPERUSER}.token        may do everything
  {ADMIN}.token            may do nothing yet: make the role {ADMIN} an admin of a tenant
  {WORKER}.token may do everything; the broker's functions worker shows it
  ca.key                 signs certificates: who has it can be the broker
  ca.pem                 what clients trust: give it to them
  broker.pem, broker.key the broker's certificate and its key
  broker.conf            what the broker needs, to go on with or to add to yours
  client.conf            what pulsar-admin and our commands need to be the superuser

Next:
  magnetar standalone --conf {folder}/broker.conf
  magnetar tokens create --subject ROLE --expiry-time 30d \\
    {option} {folder}/{signs}

Tokens and certificate hold for {expiry}. Before that: magnetar init-auth {folder} --renew
docs/security.md says how roles get their permissions, docs/rotation.md how this is renewed."""
