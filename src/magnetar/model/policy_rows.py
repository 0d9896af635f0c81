"""A row for each policy: all that its records, routes, console and commands are made of. Pure."""

from collections.abc import Iterable
from dataclasses import Field, field, replace
from enum import IntEnum
from typing import Any, Final

from magnetar.late_dataclass import dataclass
from magnetar.model.policy_values import Words

CLUSTER: Final = "{cluster}"
REFUSED: Final = object()
_ROW: Final = "row"


class Level(IntEnum):
    """Who set a policy; a higher level overrides a lower one."""

    BROKER = 0
    NAMESPACE = 1
    TOPIC = 2


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A policy at one level: where the level's JSON has it, and how the admin API offers it."""

    key: str
    path: str = ""  # Below its namespace or its topic; "": it has no routes, or all of its own.
    part: str | None = None  # Its key in the object at ``key``; CLUSTER stands for this cluster.
    own_routes: bool = False
    unset: Any = None  # What is shown where it is not set; None: nothing.
    listed: bool = False  # A namespace's policies show ``unset``, too; it counts as not set there.
    unset_status: int = 200  # With which nothing is shown.
    method: str = "POST"  # It sets the policy.
    removable: bool = True
    parameter: str = ""  # The parameter that has the value; "": it is the body.
    negative: str = ""  # Why a number below 0 is refused; "": it "must be 0 or more".
    null: Any = REFUSED  # What a number is set to by ``null``; None unsets it.
    removed: Any = None  # What it is when it has been removed; None: not set.
    nowhere: str = ""  # Why it is not shown of a namespace that does not exist.
    applies: bool = False  # ``?applied=true`` shows what holds, whoever set it.
    superuser: bool = False  # Only a superuser changes it; an admin of the tenant sees it.


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """A policy: where its JSON has it, and how it is offered and shown."""

    namespace: Endpoint | None = None
    topic: Endpoint | None = None
    acts: bool = True  # One that does not is kept and shown, and an administrator told.
    refusal: int = 412  # The status of a value that cannot be.
    maximum: str = ""  # What the services of the admin API call its largest value, if it has one.
    default: Any = None  # What holds where nobody sets it, and the broker has no setting.
    words: Words = field(default_factory=Words)
    about: str = ""
    group: str = "Others"  # The part of the console's page that has it; "": none.
    name: str = ""  # In ``Policies``, as is its type; None is one of its values.
    kind: Any = None

    def at(self, level: Level) -> Endpoint | None:
        """How it is at a level; None: that level does not have it."""
        return self.topic if level is Level.TOPIC else self.namespace

    @property
    def json_name(self) -> str:
        """What Pulsar's JSON calls it: a namespace's, where namespaces have it."""
        endpoint = self.namespace or self.topic
        assert endpoint is not None, self.name
        return endpoint.key


def policy(namespace: Endpoint | None = None, topic: Endpoint | None = None, **more: Any) -> Any:
    """A field of ``Policies``, with its row."""
    return field(default=None, metadata={_ROW: PolicyRow(namespace, topic, **more)})


def rows_of(fields: Iterable[Field[Any]]) -> dict[str, PolicyRow]:
    """The rows of fields that have one, by name."""
    return {
        each.name: replace(each.metadata[_ROW], name=each.name, kind=each.type)
        for each in fields
        if _ROW in each.metadata
    }
