import base64
import json

import pytest
from click.testing import CliRunner

from magnetar.errors import InvalidValue, NotAuthenticated
from magnetar.tools.tokens import tokens


def run(*args, stdin=None):
    result = CliRunner().invoke(tokens, list(map(str, args)), input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture(params=["HS256", "RS256", "PS384", "ES256", "ES512"])
def keys(request, tmp_path):
    """The options that sign, and those that check."""
    algorithm = request.param
    if algorithm == "HS256":
        run("create-secret-key", "--output", tmp_path / "secret")
        return ["-sk", tmp_path / "secret"], ["-sk", f"file://{tmp_path}/secret"]
    private, public = tmp_path / "private", tmp_path / "public"
    made = ["--output-private-key", private, "--output-public-key", public]
    run("create-key-pair", "-a", algorithm, *made)
    named = ["-a", algorithm] if algorithm == "PS384" else []
    return [*named, "-pk", private], ["-a", algorithm, "-pk", public]


def test_a_token_that_was_made_is_valid_and_shows_what_it_says(keys):
    signs, checks = keys
    made = run("create", "-s", "me", "--issuer", "i", *signs, "-hs", "kid=mine").output.strip()
    assert run("validate", made, *checks).output == "It is a token of the role me, for ever\n"
    header, _, claims = run("show", "--stdin", stdin=f"{made}\n").output.splitlines()
    assert json.loads(header)["kid"] == "mine"
    assert json.loads(claims) == {"sub": "me", "iss": "i"}
    with pytest.raises(NotAuthenticated, match="not valid"):
        run("validate", f"{made[:-8]}AAAAAAAA", *checks)


def test_a_token_may_end(keys, tmp_path):
    signs, checks = keys
    made = run("create", "-s", "me", "-e", "30d", *signs).output
    (tmp_path / "token").write_text(made)
    said = run("validate", "-f", tmp_path / "token", *checks).output
    assert said.startswith("It is a token of the role me until 2")
    with pytest.raises(NotAuthenticated, match="has expired"):
        run("validate", run("create", "-s", "me", "-e", "0s", *signs).output.strip(), *checks)


def test_a_key_of_another_kind_is_refused_with_the_options_that_say_it(tmp_path):
    private, public = tmp_path / "private", tmp_path / "public"
    made = ["--output-private-key", private, "--output-public-key", public]
    run("create-key-pair", "-a", "ES256", *made)
    token = run("create", "-s", "me", "-pk", private).output.strip()
    with pytest.raises(InvalidValue, match=r"no public RSA key.*--signature-algorithm"):
        run("validate", token, "-pk", public)


def test_a_secret_is_printed_in_base64_when_asked():
    assert len(base64.b64decode(run("create-secret-key", "-b").output)) == 32
    assert len(run("create-secret-key", "-a", "HS512").stdout_bytes) == 64


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("create", "-s", "me"), "give --secret-key, or --private-key"),
        (("validate", "x"), "give --secret-key, or --public-key"),
        (("show",), "give a token"),
        (("show", "x", "--stdin"), "give a token"),
    ],
)
def test_mistakes_in_a_command(args, words):
    result = run(*args)
    assert result.exit_code == 2
    assert words in result.output


def test_what_is_no_key_or_token_is_said(tmp_path):
    with pytest.raises(InvalidValue, match="no JSON Web Token"):
        run("show", "x")
    with pytest.raises(InvalidValue, match="cannot read /no/key"):
        run("create", "-s", "me", "-sk", "/no/key")
    with pytest.raises(InvalidValue, match="no private key"):
        run("create", "-s", "me", "-pk", "data:,x")
    with pytest.raises(InvalidValue, match="cannot read --token-file"):
        run("show", "-f", tmp_path / "none")
