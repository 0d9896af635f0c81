"""Judges settings that Magnetar does not have: they are refused or named, never passed over."""

import contextlib
import re
from collections.abc import Collection, Iterable
from enum import Enum, auto
from typing import Final, NamedTuple

from .pulsar import OF_BROKERS, PulsarTable
from .setting import ENVIRONMENT_PREFIX, refusal_text, variable_of


class Status(Enum):
    """What becomes of such a setting."""

    REFUSED = auto()  # It asks for what Magnetar does not do: the start ends.
    UNKNOWN = auto()  # Neither Pulsar nor Magnetar has it.
    NOT_DONE = auto()  # Pulsar's own files switch on what Magnetar does not do.
    WITHOUT_EFFECT = auto()  # It tunes what Magnetar does not have.
    AS_SHIPPED = auto()  # The same, with the value of Pulsar's own files, or it asks for nothing.


class OtherSetting(NamedTuple):
    """A setting that Magnetar does not have, as it was given."""

    key: str
    value: str  # A secret is replaced by asterisks.
    status: Status
    text: str  # A sentence for the log or the error.
    correction: str = ""  # The key that was probably meant.


def judge(
    key: str,
    value: str,
    source: str,
    own: Collection[str],
    table: PulsarTable = OF_BROKERS,
) -> OtherSetting:
    """Judge ``key``; ``own`` are the keys that Magnetar has, ``table`` has the rest of Pulsar's."""
    value = value.strip()
    shown = "***" if value and _words(key) & _SECRETS else value
    group = table.group_of(key)
    if group is None:
        return _unknown(key, value, shown, source, (*own, *table.keys))
    taken = group.settings[key]
    if not value or _meaning(value) in map(_meaning, taken):
        text = f"{key}={shown} ({source}) asks for nothing that Magnetar does not do"
        return OtherSetting(key, shown, Status.AS_SHIPPED, text)
    if _meaning(value) == group.not_done.get(key):
        text = f"{key}={shown} ({source}) is not done: {group.reason}"
        return OtherSetting(key, shown, Status.NOT_DONE, text)
    if group.refuses:
        or_say = f"Take the setting out, or say {' or '.join(taken)}" if taken else "Take it out"
        remedy = f"{group.reason}. {or_say}"
        return OtherSetting(key, shown, Status.REFUSED, refusal_text(key, shown, source, remedy))
    text = f"{key}={shown} ({source}) has no effect: {group.reason}"
    return OtherSetting(key, shown, Status.WITHOUT_EFFECT, text)


def correction_of(key: str, own: Iterable[str]) -> str:
    """The one of ``own`` that was probably meant by ``key``; "" for none."""
    keys = list(own)
    if key.startswith(ENVIRONMENT_PREFIX):
        keys = [variable_of(one) for one in keys]
    by_lower_case = {one.lower(): one for one in keys}
    from difflib import get_close_matches  # noqa: PLC0415 - settings are mostly spelt well

    close = get_close_matches(key.lower(), by_lower_case, n=1, cutoff=_LIKENESS_MIN)
    return by_lower_case[close[0]] if close else ""


def _unknown(key: str, value: str, shown: str, source: str, own: Iterable[str]) -> OtherSetting:
    correction = correction_of(key, own)
    hint = f"; did you mean {correction}?" if correction else ""
    if is_about_security(key) and value.lower() not in _NOTHING:
        remedy = f"there is no such setting, and what concerns security is never ignored{hint}"
        text = refusal_text(key, shown, source, remedy)
        return OtherSetting(key, shown, Status.REFUSED, text, correction)
    text = f"{key} ({source}) is no setting, it is ignored{hint}"
    return OtherSetting(key, shown, Status.UNKNOWN, text, correction)


_LIKENESS_MIN: Final = 0.85  # Two letters swapped or left out of a key of fourteen.
_NOTHING: Final = frozenset({"", "false", "no", "off", "0", "-1"})
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRETS: Final = frozenset(
    {"password", "passwd", "passphrase", "secret", "token", "jwt", "credential", "credentials"}
    | {"params", "parameters", "basic", "private"}
)
_SECURITY: Final = re.compile(
    "acl|athenz|auth|cert|cipher|credential|encrypt|jaas|jwt|kerberos|kinit|mtls|oauth|oidc|"
    "passphrase|passw|permission|principal|role|sasl|secret|ssl|tls|token"
)
_SECURITY_IN_TWO_WORDS: Final = ("keystore", "openid", "privatekey", "superuser", "truststore")


def _words(key: str) -> set[str]:
    """``tlsKeyFilePath``: tls, key, file, path. Also of an environment variable."""
    return {word.lower() for word in _WORD.findall(key)}


def is_about_security(key: str) -> bool:
    joined = key.lower().replace("_", "")
    return any(map(_SECURITY.match, _words(key))) or any(
        words in joined for words in _SECURITY_IN_TWO_WORDS
    )


def _meaning(value: str) -> str:
    """Equal for values that say the same: numbers, lists in any order, a class in any package."""
    parts = []
    for part in value.lower().split(","):
        name = part.strip()
        if name.startswith("org.apache."):
            name = name.rpartition(".")[2]
        with contextlib.suppress(ValueError):
            name = f"{float(name):g}"
        parts.append(name)
    return ",".join(sorted(parts))
