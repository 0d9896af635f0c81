"""A line of ``verbs.txt``: what a verb is called, what it takes, and what it asks of the admin API.

Where the value of an option goes is said by its ``to``: ``?key`` a parameter of the query,
``{key}`` a part of the path, ``=`` the whole body, ``key other`` keys of the body, and "" what the
verb's own code takes.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from .kinds import Kind

PREFIX: Final = "/admin/v2"


@dataclass(frozen=True, slots=True)
class Param:
    """An argument or an option of a verb."""

    names: tuple[str, ...]
    """``("-t", "--time")``, or the one name of an argument."""
    to: str
    kind: Kind
    about: str
    required: bool = False
    default: object = None
    several: bool = False
    value: object = None
    """What it says where it stands without one: a flag does, and what need not have one."""

    @property
    def name(self) -> str:
        """By which its value is known."""
        return max((name.lstrip("-") for name in self.names), key=len).replace("-", "_")

    @property
    def argument(self) -> bool:
        return not self.names[0].startswith("-")


@dataclass(frozen=True, slots=True)
class Verb:
    """One command of a group."""

    name: str
    about: str
    method: str
    path: str
    """Below ``/admin/v2``, but for what begins with a slash."""
    params: tuple[Param, ...] = ()
    body: Any = None
    """The body, or the keys that it has besides those of the options."""
    paths: tuple[tuple[str, str], ...] = ()
    """The path in its place, where options of these names are given; the first that fits."""
    one_of: tuple[str, ...] = ()
    """Names of options of which exactly one has to be given."""
    run: str = ""
    """A function of ``steps`` that does it, for what is more than a request."""
    ask: str = ""
    """The question before it is done, unless --force is given."""
    hidden: bool = False
    refused: str = ""
    """Why it is not done, and what to do."""
    example: str = ""
    """What follows the verb in the example of its help."""
    also: tuple[str, ...] = ()
    """Other names of it, which --help does not list."""

    def without(self, *names: str) -> "Verb":
        """Copy the verb without some options."""
        kept = tuple(one for one in self.params if not set(names) & set(one.names))
        return replace(self, params=kept)
