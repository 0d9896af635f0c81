"""Resource groups: limits that namespaces share. Pure."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

from magnetar.model import policy_values as values
from magnetar.model.records import Json


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """What all namespaces of a group may do together in a second; None or less than 1: no limit."""

    publish_messages: Annotated[int | None, "publishRateInMsgs"] = None
    publish_bytes: Annotated[int | None, "publishRateInBytes"] = None
    dispatch_messages: Annotated[int | None, "dispatchRateInMsgs"] = None
    dispatch_bytes: Annotated[int | None, "dispatchRateInBytes"] = None

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Raises InvalidValue."""
        found: Self = values.from_json(cls, value, "a resource group")
        return found

    def to_json(self) -> Json:
        written: Json = values.to_json(self)
        return written

    def changed_by(self, other: Self) -> Self:
        """The same group with the limits that the other one has."""
        given: dict[str, Any] = {
            each.name: getattr(other, each.name) for each in values.fields_of(ResourceGroup)
        }
        return replace(self, **{name: limit for name, limit in given.items() if limit is not None})
