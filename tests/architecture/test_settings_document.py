"""docs/settings.md says what the code does with every setting of Pulsar's and of ours."""

import os

from architecture.source import ROOT, TESTS

from magnetar.broker.config import Config
from magnetar.broker.settings.properties import parse_properties
from magnetar.broker.settings.pulsar import group_of, groups, pulsar_keys

DOCUMENT = ROOT / "docs" / "settings.md"
FILES = ("standalone.conf", "broker.conf")

HEAD = """# Settings

What a broker is set with comes from a file (`--conf`, in the format and with the key names of
Pulsar's `standalone.conf`), over that from the environment (`brokerServicePort` is
`MAGNETAR_BROKER_SERVICE_PORT`, or `PULSAR_PREFIX_brokerServicePort` as Pulsar's image has it), over
that from flags. `magnetar config show --conf FILE` prints every setting, its value and where that
came from, then what becomes of everything else in the file; it ends with exit code 1 where a broker
would refuse to start.

What becomes of a setting that Magnetar does not have:

- *refused*: its value asks for what is not done. The broker does not start, and names key, value,
  line and remedy. The same key passes with a value that asks for nothing, as the table has it.
- *not done*: Pulsar's own files switch it on for everybody. The broker starts, and names it in a
  warning.
- *no effect*: it tunes what is not there, or works in another way here. The broker starts, and
  names it where the value is not the one of Pulsar's files.
- *unknown*: neither has such a setting. The broker starts, and names it with the one that was
  probably meant. What has to do with authentication, authorisation or encryption by its name is
  refused even then, unless it is empty or `false`.

An empty value means the default. A line without `=` (or `:`) behind its key is an error that names
the line.

This page is made from `broker/settings/`, `broker/topics/settings.py`,
`broker/settings/pulsar.toml` and `tests/golden/conf`, the keys and values of Apache Pulsar 4.0's
own files: change those, then run `REWRITE=1 make test`.

## What Magnetar has

| setting | default | what it does |
|---|---|---|
"""

GROUPS_HEAD = """
## What becomes of the others

| they concern | | why |
|---|---|---|
"""

WALK_HEAD = """
## Every setting of Pulsar 4.0

With the values of its `standalone.conf` and `broker.conf`, classes without their packages; behind
those the settings that are in neither file.

| setting | `standalone.conf` | `broker.conf` | Magnetar |
|---|---|---|---|
"""


def document() -> str:
    own = Config.read().rows()
    shipped = [
        {
            pair.key: short(pair.value)
            for pair in parse_properties((TESTS / "golden" / "conf" / file).read_text())
        }
        for file in FILES
    ]
    honoured = {key for key, *_ in own}
    keys = sorted({*shipped[0], *shipped[1], *pulsar_keys()}, key=lambda key: (key.lower(), key))
    in_files = [key for key in keys if any(key in file for file in shipped)]
    others = [key for key in keys if key not in in_files]
    lines = [f"| `{key}` | {code(value)} | {about} |" for key, value, _, about in own]
    lines += [GROUPS_HEAD.rstrip("\n")]
    lines += [
        f"| {one.about} | {'refused' if one.refuses else 'no effect'} | {one.reason.rstrip('.')} |"
        for one in groups()
    ]
    lines += [WALK_HEAD.rstrip("\n")]
    for key in (*in_files, *others):
        values = [code(file[key]) if key in file else "-" for file in shipped]
        fate = "honoured" if key in honoured else fate_of(key)
        lines.append(f"| `{key}` | {values[0]} | {values[1]} | {fate} |")
    return HEAD + "\n".join(lines) + "\n"


def fate_of(key: str) -> str:
    group = group_of(key)
    assert group is not None
    if not group.refuses:
        return f"no effect: {group.about}"
    taken = " or ".join(code(value) for value in group.settings[key]) or "empty"
    not_done = group.not_done.get(key)
    tail = f". {code(not_done)} is taken, and not done" if not_done else ""
    return f"refused unless {taken}: {group.about}{tail}"


def short(value: str) -> str:
    """Classes without their packages."""
    return ",".join(
        one.rpartition(".")[2] if one.startswith("org.apache.") else one for one in value.split(",")
    )


def code(value: str) -> str:
    return f"`{value}`" if value else "empty"


def test_the_document_says_what_the_code_does():
    text = document()
    if os.environ.get("REWRITE"):
        DOCUMENT.write_text(text)
    assert DOCUMENT.read_text() == text, "run it with REWRITE=1 and look at the diff"
