"""The verbs of pulsar-admin, read from ``verbs.txt``, whose head tells how its lines are read."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from magnetar.model.policies import ROWS
from magnetar.model.policy_rows import Level

from . import kinds
from .kinds import Kind
from .verb import Param, Verb

_FILE: Final = Path(__file__).with_name("verbs.txt")
_SHARED: Final = "options"
Options = dict[str, tuple[Param, ...]]


@dataclass(frozen=True, slots=True)
class Group:
    """What ``--help`` says of a group, and the lines of its verbs."""

    about: str
    lines: str
    also: tuple[str, ...] = ()
    refused: str = ""
    command: str = ""
    """A command that is here by another name: ``module:name``."""


@cache
def groups() -> Mapping[str, Group]:
    """The groups by their names, in the order of ``--help``."""
    return {name: group for name, group in _sections().items() if name != _SHARED}


@cache
def verbs_of(group: str) -> tuple[Verb, ...]:
    """The verbs of a group, by its own name."""
    found = [verb for _, verb in _verbs(group)]
    if group == "topics":
        known = {verb.name for verb in found}
        found += [verb for verb in _older_verbs() if verb.name not in known]
    return tuple(found)


def options(name: str) -> tuple[Param, ...]:
    """The options that all groups can name so."""
    return _shared()[name]


@dataclass(slots=True)
class _Row:
    """A line of a verb, a policy or a set of options, and the options below it."""

    columns: list[str]
    own: dict[str, Param] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.columns[0]

    @property
    def more(self) -> dict[str, str]:
        parts = (column.partition(":") for column in self.columns[4:])
        return {key: value.strip() for key, _, value in parts}

    @property
    def policies(self) -> dict[str, str]:
        """Of the line ``*``: what holds for each policy of its group."""
        return _Row(["", "", "", "", *self.columns[2:]]).more

    @property
    def level(self) -> Level:
        """Of the line ``*``: whose policies its group has."""
        return Level[self.policies["level"]]

    def params(self, words: str, options: Options) -> tuple[Param, ...]:
        """The options that words name; those of the row itself are last where they are not."""
        found: list[Param] = []
        for word in words.split():
            found += [self.own[word]] if word in self.own else options[word]
        return (*found, *(own for own in self.own.values() if own not in found))


def _sections() -> dict[str, Group]:
    found = {}
    for section in _FILE.read_text(encoding="utf-8").split("\n[")[1:]:
        head, _, lines = section.partition("\n")
        name, about, *rest = _columns(head)
        more = _Row(["", "", "", "", *rest]).more
        found[name.rstrip("]")] = Group(
            about,
            lines,
            also=tuple(more.get("also", "").split()),
            refused=more.get("refused", ""),
            command=more.get("command", ""),
        )
    return found


def _verbs(group: str) -> Iterator[tuple[_Row, Verb]]:
    rows, options = _rows(_sections()[group].lines, _shared())
    every = _Row([])
    for row in rows:
        if row.name == "*":
            every = row
        elif row.name.startswith("*-"):
            yield from ((row, verb) for verb in _policy(row, every, options))
        else:
            yield row, _verb(row, row.params(row.columns[2], options))
    named = {row.columns[1] for row in rows}
    for known in ROWS.values() if every.columns else ():
        at = known.at(every.level)
        if at is not None and at.path and not at.own_routes and known.name not in named:
            noun = re.sub(r"(?=[A-Z])", "-", at.path).lower()
            row = _Row([f"*-{noun}", known.name, "json", f"the policy {at.path}"])
            yield from ((row, verb) for verb in _policy(row, every, options))


def _older_verbs() -> Iterator[Verb]:
    """What ``topics`` still knows by its older names: not listed, and not for all clusters."""
    for row, verb in _verbs("topicPolicies"):
        action, _, noun = verb.name.partition("-")
        if (older := row.more.get("older", noun)) != ".":
            also = () if older == noun else (f"{action}-{older}",)
            plain = verb.without("--global", "--subscription")
            yield replace(plain, hidden=True, paths=(), also=also)


@cache
def _shared() -> Options:
    return _rows(_sections()[_SHARED].lines, {})[1]


def _rows(lines: str, shared: Options) -> tuple[list[_Row], Options]:
    """The rows of verbs, and the options that they may name."""
    rows: list[_Row] = []
    options = dict(shared)
    for line in lines.splitlines():
        columns = _columns(line)
        if not columns or line.startswith("#"):
            continue
        if line.startswith(" " * 8):
            rows[-1].columns += columns
        elif line.startswith(" "):
            name, param = _param(columns)
            rows[-1].own[name] = param
        elif line[0] in "-<" or line.split(maxsplit=1)[0].endswith(":"):
            name, param = _param(columns)
            options[name] = (param,)
        else:
            rows.append(_Row(columns))
    verbs = []
    for row in rows:
        if row.name.startswith("@"):
            options[row.name] = row.params(" ".join(row.columns[1:]), options)
        else:
            verbs.append(row)
    return verbs, options


def _columns(line: str) -> list[str]:
    found = (column.strip() for column in line.split("  "))
    return ["" if column == "." else column for column in found if column]


def _verb(row: _Row, params: tuple[Param, ...]) -> Verb:
    name, request, _, about = row.columns[:4]
    method, _, path = request.partition(" ")
    more = row.more
    body: Any = json.loads(more["body"]) if "body" in more else None
    return Verb(
        name,
        about,
        method,
        path,
        params,
        body=kinds.Raw(more["text"]) if "text" in more else body,
        paths=tuple((key[5:], to) for key, to in more.items() if key.startswith("with ")),
        one_of=tuple(more.get("one of", "").split()),
        run=more.get("run", ""),
        ask=more.get("ask", ""),
        hidden="hidden" in more,
        refused=more.get("refused", ""),
        example=more.get("example", ""),
        also=tuple(more.get("also", "").split()),
    )


def _policy(row: _Row, every: _Row, options: Options) -> Iterator[Verb]:
    """The verbs that show, set and remove a policy."""
    subject, plain = every.columns[1], _Row([])
    more = every.policies | row.more
    get, change, about = more.get("get", ""), more.get("change", ""), row.columns[3]
    actions = "get set remove"
    known = ROWS.get(row.columns[1])
    at = known.at(every.level) if known is not None else None
    if at is not None:
        request = f"{at.method} {more['at']}/{at.path}"
        row = replace(row, columns=[row.name, request, *row.columns[2:]])
        actions = actions if at.removable else "get set"
        get = f"applied {get}" if at.applies else get
    for action in more.get("verbs", actions).split():
        params = row.params(f"{subject} {row.columns[2]}", options)
        verb = _verb(row, params + plain.params(change, options))
        name = action + verb.name[1:]
        if action == "set":
            yield replace(verb, name=name, about=f"Set {about}.")
            continue
        verb = Verb(name, f"Show {about}.", "GET", verb.path, paths=verb.paths)
        words = f"{subject} {get}"
        if action == "remove":
            verb = replace(verb, about=f"Remove {about}: what is above it holds.", method="DELETE")
            words = f"{subject} {more.get('remove', '')} {change}"
        yield replace(verb, params=plain.params(words, options))


def _param(columns: list[str]) -> tuple[str, Param]:
    """An option, and by which name verbs have it."""
    names, to, kind_name, about, *rest = columns
    known, colon, others = names.partition(": ")
    words = tuple((others if colon else names).split())
    kind = _kind(kind_name)
    flag = kind is kinds.FLAG
    parts = (one.partition(" ") for one in ", ".join(rest).split(", "))
    more = {key: value for key, _, value in parts}
    default: object = None
    if "default" in more:
        default = json.loads(more["default"]) if flag else kind.read(more["default"])
    argument = words[0].startswith("<")
    found = Param(
        (words[0].strip("<>"),) if argument else words,
        to,
        kind,
        about,
        required=argument or "required" in more,
        default=default,
        several="several" in more,
        value=json.loads(more.get("value", "true")) if flag or "value" in more else None,
    )
    longest = max((name.lstrip("-") for name in found.names), key=len)
    return known if colon else longest, found


def _kind(name: str) -> Kind:
    if "|" in name:
        return kinds.choice(*name.strip("|").split("|"))
    found = getattr(kinds, name)
    assert isinstance(found, Kind), name
    return found
