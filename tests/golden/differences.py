"""Where our answers are known not to be Apache Pulsar's, and why: ``wire/differences.json``.

One object per difference: ``conversations`` (names, or ["*"]), ``command`` and ``field`` (shell
patterns), ``pulsar`` and ``magnetar`` (what each answers; left out: anything), and the ``reason``.
``lines``, where given, are the lines of the recording. ``docs/wire-differences.md`` is made of it.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from golden.compare import NOTHING
from golden.replay import Difference

TABLE = Path(__file__).parent / "wire" / "differences.json"
DOCUMENT = Path(__file__).parents[2] / "docs" / "wire-differences.md"
ANYTHING = object()

OTHERWISE = {
    "sends in a transaction that has ended, which are refused here at once": [
        "txn-ended",
        "txn-ended-late",
    ],
}
"""The conversations that go on otherwise here from some step on. They are not compared.

Pulsar answers such a send with a receipt, and drops it later, and with it what was committed of the
transaction; or it refuses it, and then all transactions until the topic is unloaded.
"""

HEAD = """# Where Magnetar's answers are not Pulsar's

`tests/golden` plays recorded conversations with Apache Pulsar 4.0.7 against our broker and compares
every answer. These are all the places where they differ. A test fails for a difference that is not
here, and for one here that is none any more. This page is made from
`tests/golden/wire/differences.json`: change that, then run `REWRITE=1 make test`.

Not compared, since two runs of Pulsar differ there as well: ledger ids and generated producer
names (the same on one side must be the same on the other), addresses, times, `server_version`
after its first words, the Java class in front of an error's text, and what a receipt's
`highest_sequence_id` holds when the SEND had none.

Not played to their end are the conversations about {waiting}.

| answer | Pulsar | Magnetar | why | seen in |
|---|---|---|---|---|
"""
TAIL = """
Features that are not there are refused, and so answered otherwise than by Pulsar where nothing was
recorded, too:

- A SEND that is refused (one that is to be delivered later than may be, or is not encrypted) gets
  SEND_ERROR in its turn, and everything else of the producer is stored. Clients of the C++ library
  (Python's, Node's) get `ChecksumError` with the same text: told of any other error they connect
  again, and send again what was refused with all that was sent after it, ten times a second, until
  the send times out.
- A delayed message that waits is delivered when it is due, up to a tick early or late. Pulsar
  rounds such times: of two messages due in 3 s and in 1.5 s it delivered both after 2 s.
- REACHED_END_OF_TOPIC is not sent to clients of the C++ library, which do not know it: they would
  hang up, connect again, and be told again, ten times a second.
- A CONNECT of a client of the C++ library that is not let in gets CONNECTED, and then
  `AuthenticationError` for whatever it asks: refused at once it would connect again and again, and
  tell its user nothing but that it timed out.
- An error at CONNECT says why ("Failed to authenticate: the token has expired: ..."), and so does a
  401. Over HTTP credentials that are wrong are refused also where there is an anonymous role.
"""


@dataclass(frozen=True, slots=True)
class Known:
    number: int
    conversations: list[str]
    command: str
    field: str
    pulsar: Any
    magnetar: Any
    reason: str
    lines: list[int] | None

    def covers(self, difference: Difference) -> bool:
        return (
            self.concerns(difference.conversation)
            and fnmatchcase(difference.command, self.command)
            and fnmatchcase(difference.field, self.field)
            and (self.lines is None or difference.line in self.lines)
            and self.pulsar in (ANYTHING, difference.pulsar)
            and self.magnetar in (ANYTHING, difference.magnetar)
        )

    def concerns(self, conversation: str) -> bool:
        return self.conversations == ["*"] or conversation in self.conversations


def known() -> list[Known]:
    return [
        Known(
            number=number,
            conversations=entry["conversations"],
            command=entry["command"],
            field=entry.get("field", ""),
            pulsar=entry.get("pulsar", ANYTHING),
            magnetar=entry.get("magnetar", ANYTHING),
            reason=entry["reason"],
            lines=entry.get("lines"),
        )
        for number, entry in enumerate(json.loads(TABLE.read_text()))
    ]


def unlisted(found: Iterable[Difference], table: Iterable[Known]) -> list[Difference]:
    return [one for one in found if not any(entry.covers(one) for entry in table)]


def missing(conversation: str) -> set[int]:
    """The lines of whole frames that Pulsar sent and we are known not to send."""
    return {
        line
        for entry in known()
        if entry.concerns(conversation) and not entry.field and entry.magnetar == NOTHING
        for line in entry.lines or ()
    }


def document(table: Iterable[Known]) -> str:
    rows = [
        f"| {_code(f'{entry.command} {entry.field}'.strip())} | {_shown(entry.pulsar)} "
        f"| {_shown(entry.magnetar)} | {entry.reason} "
        f"| {'everywhere' if entry.conversations == ['*'] else ', '.join(entry.conversations)} |\n"
        for entry in table
    ]
    return HEAD.format(waiting=", ".join(OTHERWISE)) + "".join(rows) + TAIL


def _shown(value: Any) -> str:
    if value is ANYTHING:
        return "(varies)"
    return value if value == NOTHING else _code(json.dumps(value, ensure_ascii=False))


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"
