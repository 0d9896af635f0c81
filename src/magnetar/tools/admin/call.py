"""One run of a verb: the request that its options make, and what the API answers."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from magnetar.errors import InvalidValue

from .kinds import Raw
from .verb import PREFIX, Param, Verb

if TYPE_CHECKING:
    from magnetar.client.admin_api import AdminAnswer, AdminApi

_NAMES: Final = re.compile(r"\{(\w+)\}")


@dataclass(slots=True)
class Call:
    """A verb, and the values of its options by name: None where one was not given."""

    verb: Verb
    given: Mapping[str, Any]
    api: "AdminApi"

    def value(self, param: Param) -> object:
        """The value to send: the one given, else its default."""
        given = self.given.get(param.name)
        if not param.kind.name and not param.argument:  # A flag.
            return param.value if given else param.default
        return param.default if given is None else given

    @property
    def path(self) -> str:
        """Where it asks."""
        template = self.verb.path
        for names, other in self.verb.paths:
            if all(self.given.get(name) not in (None, False) for name in names.split()):
                template = other
                break
        parts = {}
        for param in self.verb.params:
            value = self.value(param)
            if param.to.startswith("{") and value is not None:
                parts[param.to[1:-1]] = param.kind.path(value)
        missing = [name for name in _NAMES.findall(template) if name not in parts]
        if missing:
            raise InvalidValue(f"{self.verb.name} needs --{missing[0].replace('_', '-')}")
        path = _NAMES.sub(lambda found: parts[found[1]], template)
        return path if path.startswith("/") else f"{PREFIX}/{path}"

    @property
    def query(self) -> dict[str, object]:
        """The parameters of the query."""
        found = {}
        for param in self.verb.params:
            value = self.value(param)
            if param.to.startswith("?") and value is not None:
                found[param.to[1:]] = ",".join(value) if isinstance(value, list) else value
        return found

    @property
    def body(self) -> object:
        """The body, as a value; None for none."""
        base = self.verb.body
        keys = dict(base) if isinstance(base, Mapping) else {}
        whole = None if isinstance(base, Mapping) else base
        for param in self.verb.params:
            value = self.value(param)
            if not param.to or param.to[0] in "?{" or value is None:
                continue
            if param.to != "=":
                keys |= dict.fromkeys(param.to.split(), value)
            elif isinstance(value, Mapping):
                keys |= value
                whole = None
            else:
                whole = value
        if keys or (whole is None and self._has_mapping):
            return keys
        return whole

    @property
    def keys(self) -> dict[str, Any]:
        """The body of a verb whose body has keys."""
        body = self.body
        return dict(body) if isinstance(body, Mapping) else {}

    @property
    def _has_mapping(self) -> bool:
        """Whether an empty mapping is a body too."""
        if isinstance(self.verb.body, Mapping):
            return True
        values = (self.value(one) for one in self.verb.params if one.to == "=")
        return any(isinstance(value, Mapping) for value in values)

    def send(self, body: object = None) -> Any:
        """Ask, with another body than that of the options where one is given."""
        return self.ask(body).value()

    def ask(self, body: object = None) -> "AdminAnswer":
        """Send the request. Returns the whole answer."""
        value = self.body if body is None else body
        text = value if isinstance(value, Raw) else json.dumps(value)
        data = None if value is None else text.encode()
        headers = {"Content-Type": "application/json"}
        return self.api.ask(self.verb.method, self.path, data, query=self.query, headers=headers)
