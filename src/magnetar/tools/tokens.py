"""``magnetar tokens``: JSON web tokens and their keys, with the options of ``pulsar tokens``."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import click

from magnetar.auth.key_text import read_key
from magnetar.errors import InvalidValue
from magnetar.tools import token_keys
from magnetar.tools.groups import with_options

_FILE: Final = click.Path(path_type=Path, dir_okay=False)
_KEY_HELP: Final = "A file, file:///PATH, data:;base64,KEY, or the key in base64."


def _algorithm(
    known: Sequence[str], about: str, **more: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    kinds = click.Choice(known)
    return click.option("-a", "--signature-algorithm", "algorithm", type=kinds, help=about, **more)


@click.group()
def tokens() -> None:
    """Make and check JSON web tokens, and their keys."""


@tokens.command("create-secret-key")
@_algorithm(
    token_keys.SECRETS, "What it is for: its length follows.", default="HS256", show_default=True
)
@click.option("-o", "--output", type=_FILE, help="A new file for it; else it is printed.")
@click.option("-b", "--base64", "as_text", is_flag=True, help="Write it in base64.")
def create_secret_key(algorithm: str, output: Path | None, *, as_text: bool) -> None:
    """Make a secret that signs tokens and checks them.

    Example: magnetar tokens create-secret-key --output secret.key
    """
    import base64  # noqa: PLC0415 - one of many commands

    secret = token_keys.new_secret(algorithm)
    written = base64.b64encode(secret) if as_text else secret
    if output is not None:
        token_keys.write_new(output, written)
    else:
        click.echo(written, nl=as_text)


@tokens.command("create-key-pair")
@_algorithm(token_keys.PAIRS, "What the keys are for.", default="RS256", show_default=True)
@click.option("--output-private-key", type=_FILE, required=True, help="A new file for it.")
@click.option("--output-public-key", type=_FILE, required=True, help="A new file for it.")
def create_key_pair(algorithm: str, output_private_key: Path, output_public_key: Path) -> None:
    """Make a key that signs tokens, and one that checks them: brokers get only that.

    Example: magnetar tokens create-key-pair --output-private-key my.key --output-public-key my.pub
    """
    private, public = token_keys.new_pair(algorithm)
    token_keys.write_new(output_private_key, private)
    token_keys.write_new(output_public_key, public)


@tokens.command("create-key-set")
@click.option(
    "--key",
    "named",
    multiple=True,
    required=True,
    metavar="KID=FILE",
    help="A public key, and how tokens name it. May be given again.",
)
@click.option("-o", "--output", type=_FILE, required=True, help="A file for it, new or replaced.")
def create_key_set(named: tuple[str, ...], output: Path) -> None:
    """Put public keys together as a JSON Web Key Set, for the setting tokenJwks.

    A broker takes a set that was replaced without a restart: so keys come and go.

    Example: magnetar tokens create-key-set --key 2026=my.pub --output keys.json
    """
    keys = {}
    for each in named:
        kid, is_named, where = each.partition("=")
        if not is_named or not kid or kid in keys:
            raise click.BadParameter(f"{each!r} is no KID=FILE of its own", param_hint="--key")
        keys[kid] = read_key("--key", where)
    token_keys.replace(output, token_keys.key_set(keys))


@tokens.command()
@_algorithm(
    token_keys.PAIRS, "With a private key that is not of RS256 or an elliptic curve: which it is."
)
@click.option("-s", "--subject", required=True, help="The role that the token is of.")
@click.option("-e", "--expiry-time", help="How long it holds: 90s, 12h, 30d, 1y; else for ever.")
@click.option("-sk", "--secret-key", help=_KEY_HELP)
@click.option("-pk", "--private-key", "private", help=_KEY_HELP)
@click.option("--issuer", help="Who makes the token: its claim iss.")
@click.option("-hs", "--headers", multiple=True, metavar="KEY=VALUE", help="Such as kid=NAME.")
def create(
    *,
    algorithm: str | None,
    subject: str,
    expiry_time: str | None,
    secret_key: str | None,
    private: str | None,
    issuer: str | None,
    headers: tuple[str, ...],
) -> None:
    """Make a token, and print it.

    Example: magnetar tokens create --subject orders-app --secret-key auth/secret.key
    """
    if (secret_key is None) is (private is None):
        raise click.UsageError("give --secret-key, or --private-key")
    key: Any
    if secret_key is not None:
        key, fitting = read_key("--secret-key", secret_key), "HS256"
    else:
        key = token_keys.private_key(read_key("--private-key", private or ""))
        curve = getattr(key, "curve", None)
        sizes = {256: "ES256", 384: "ES384", 521: "ES512"}
        fitting = "RS256" if curve is None else sizes.get(curve.key_size, "ES256")
    pairs = [each.partition("=") for each in headers]
    click.echo(
        signed(
            subject,
            key,
            algorithm or fitting,
            expiry_time=expiry_time,
            issuer=issuer,
            headers={name: value for name, _, value in pairs},
        )
    )


def signed(
    role: str,
    key: Any,
    algorithm: str,
    *,
    expiry_time: str | None = None,
    issuer: str | None = None,
    headers: dict[str, str] | None = None,
) -> str:
    """A token of ``role``. Raises InvalidValue."""
    import jwt  # noqa: PLC0415 - not for --help

    claims: dict[str, Any] = {"sub": role}
    if issuer is not None:
        claims["iss"] = issuer
    if expiry_time is not None:
        claims["exp"] = int(_now_s() + token_keys.span_of(expiry_time).total_seconds())
    try:
        return jwt.encode(claims, key, algorithm, headers=headers)
    except (jwt.PyJWTError, TypeError, ValueError) as error:
        raise InvalidValue(f"the key is not one of {algorithm}: {error}") from None


_given = with_options(
    click.argument("token", required=False),
    click.option("-i", "--stdin", is_flag=True, help="Read the token from standard input."),
    click.option("-f", "--token-file", type=_FILE, help="Read it from a file."),
)
"""The ways to name a token."""


@tokens.command()
@_given
def show(token: str | None, token_file: Path | None, *, stdin: bool) -> None:
    """Print what a token says, without checking it.

    Example: magnetar tokens show "$(cat app.token)"
    """
    import jwt  # noqa: PLC0415 - not for --help

    try:
        found = jwt.decode_complete(_token(token, token_file, stdin=stdin), options=_UNCHECKED)
    except jwt.PyJWTError as error:
        raise InvalidValue(f"it is no JSON Web Token: {error}") from None
    click.echo(json.dumps(found["header"]))
    click.echo("---")
    click.echo(json.dumps(found["payload"]))


_UNCHECKED: Final[Any] = {"verify_signature": False}


@tokens.command()
@_given
@_algorithm(token_keys.PAIRS, "With a public key: what it checks.", default="RS256")
@click.option("-sk", "--secret-key", help=_KEY_HELP)
@click.option("-pk", "--public-key", "public", help=_KEY_HELP)
def validate(
    token: str | None,
    token_file: Path | None,
    algorithm: str,
    secret_key: str | None,
    public: str | None,
    *,
    stdin: bool,
) -> None:
    """Check a token as a broker would, and print what it says.

    Example: magnetar tokens validate --secret-key auth/secret.key "$(cat app.token)"
    """
    import asyncio  # noqa: PLC0415 - not for --help

    from magnetar.auth import token as checks  # noqa: PLC0415 - as above
    from magnetar.auth.identity import Credentials  # noqa: PLC0415 - as above
    from magnetar.auth.token_provider import TokenProvider  # noqa: PLC0415 - as above
    from magnetar.clock import SystemClock  # noqa: PLC0415 - as above

    if (secret_key is None) is (public is None):
        raise click.UsageError("give --secret-key, or --public-key")
    shown = _token(token, token_file, stdin=stdin)
    if secret_key is not None:
        key = checks.secret_key(read_key("--secret-key", secret_key))
    else:
        content = read_key("--public-key", public or "")
        try:
            key = checks.public_key(content, algorithm)
        except InvalidValue as error:
            settings = "a broker's settings; here they are --public-key and --signature-algorithm"
            raise InvalidValue(f"{error} ({settings})") from None
    provider = TokenProvider([checks.FixedKeys(key)], checks.TokenRules(), SystemClock())
    identity = asyncio.run(provider.authenticate(Credentials("token", shown.encode())))
    ends = identity.expires_at_ms
    until = "" if ends is None else time.strftime(" until %F %T UTC", time.gmtime(ends / 1000))
    click.echo(f"It is a token of the role {identity.role}{until or ', for ever'}")


def _token(token: str | None, file: Path | None, *, stdin: bool) -> str:
    if [token is not None, file is not None, stdin].count(True) != 1:
        raise click.UsageError("give a token, --stdin, or --token-file")
    if stdin:
        return sys.stdin.read().strip()
    if file is None:
        return (token or "").strip()
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"cannot read --token-file {file}: {error}") from None


def _now_s() -> float:
    from magnetar.clock import SystemClock  # noqa: PLC0415 - not for --help

    return SystemClock().wall_ms() / 1000
