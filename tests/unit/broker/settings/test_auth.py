import pytest
from support.tokens import PROVIDER, SECRET, TAKES_TOKENS

from magnetar.broker.config import Config
from magnetar.errors import InvalidValue


def refused(**settings):
    with pytest.raises(InvalidValue) as error:
        Config.read(flags=settings)
    return str(error.value)


def test_providers_have_pulsars_names_with_or_without_their_package():
    names = f"{PROVIDER}Token, AuthenticationProviderBasic"
    config = Config.read(
        flags={**TAKES_TOKENS, "authenticationProviders": names, "basicAuthConf": "/x"}
    )
    assert config.auth.methods == ("token", "basic")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"authenticationEnabled": "true"}, "set authenticationProviders, too; `magnetar init"),
        ({"authenticationProviders": PROVIDER + "Athenz"}, "use some of AuthenticationProviderTok"),
        ({"authenticationProviders": PROVIDER + "OpenID"}, "tokenJwks instead"),
        ({**TAKES_TOKENS, "tokenSecretKey": None}, "set tokenSecretKey, tokenPublicKey or"),
        ({**TAKES_TOKENS, "tokenAudience": "x"}, "tokenAudienceClaim both"),
        ({**TAKES_TOKENS, "tokenAudienceClaim": "x"}, "tokenAudienceClaim both"),
        (
            {**TAKES_TOKENS, "authenticationProviders": PROVIDER + "Basic"},
            "set basicAuthConf to a file",
        ),
        ({**TAKES_TOKENS, "functionsWorkerEnabled": "true"}, "its worker has to sign in, too"),
        ({**TAKES_TOKENS, "tenantTokenIssuers": "/i"}, "nothing would confine whom tenants let"),
        (
            {
                "authenticationEnabled": "true",
                "authenticationProviders": PROVIDER + "Tls",
                "authorizationEnabled": "true",
                "superUserRoles": "admin",
                "tenantTokenIssuers": "/i",
            },
            "nothing checks tokens: name AuthenticationProviderToken",
        ),
        ({"tenantTokenIssuers": "/i"}, "asks nobody without authenticationEnabled=true"),
        ({"superUserRoles": "admin"}, "asks nobody without authenticationEnabled=true"),
        ({"tokenSecretKey": "s3cret"}, "asks nobody without authenticationEnabled=true"),
    ],
)
def test_security_that_is_half_set_up_stops_the_start(settings, reason):
    text = refused(**settings)
    assert reason in text
    assert "s3cret" not in text


def test_who_switches_it_off_in_so_many_words_may_keep_the_rest():
    Config.read(flags={**TAKES_TOKENS, "authenticationEnabled": "false"})


def test_a_secret_is_never_shown():
    config = Config.read(flags={**TAKES_TOKENS, "tokenPublicKey": "file:///k"})
    shown = {key: value for key, value, *_ in config.rows()}
    assert shown["tokenSecretKey"] == "***"
    assert shown["tokenPublicKey"] == "file:///k"
    assert TAKES_TOKENS["tokenSecretKey"] not in repr(config)
    assert SECRET.decode() not in repr(config)
