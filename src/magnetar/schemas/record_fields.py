"""The fields of a class of records: a dataclass, a pydantic model or a msgspec struct. Pure.

None of their libraries is imported: who has such a class has imported it.
"""

import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, Final, get_type_hints

from magnetar.errors import InvalidValue

NOT_FOUND: Final = object()
"""Stands for what is not there, where None may be."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field as the class has it."""

    name: str  # The attribute.
    written: str  # In the definition and the data.
    given: str  # The keyword that makes a record.
    default: Any = NOT_FOUND
    factory: Callable[[], Any] | None = None

    @property
    def optional(self) -> bool:
        return self.default is not NOT_FOUND or self.factory is not None


def fields_of(record: type) -> list[Field] | None:
    """The fields of a class of records; None when it is none."""
    if is_dataclass(record):
        return [
            Field(
                one.name,
                one.name,
                one.name,
                NOT_FOUND if one.default is MISSING else one.default,
                None if one.default_factory is MISSING else one.default_factory,
            )
            for one in fields(record)
            if one.init
        ]
    if is_model(record):
        infos = vars(record)["__pydantic_fields__"]
        return [_model_field(name, info) for name, info in infos.items() if not info.exclude]
    if "msgspec" in sys.modules and issubclass(record, sys.modules["msgspec"].Struct):
        inspected = sys.modules["msgspec"].structs.fields(record)
        nothing = sys.modules["msgspec"].NODEFAULT
        return [
            Field(
                one.name,
                one.encode_name,
                one.name,
                NOT_FOUND if one.default is nothing else one.default,
                None if one.default_factory is nothing else one.default_factory,
            )
            for one in inspected
        ]
    return None


def is_record(kind: Any) -> bool:
    """Whether it is a class that a schema can be made from."""
    return isinstance(kind, type) and fields_of(kind) is not None


def hints_of(record: type) -> dict[str, Any]:
    try:
        return get_type_hints(record, include_extras=True)
    except NameError as error:
        raise InvalidValue(
            f"{record.__name__}: {error}, as the type of a field: define it in the same module"
        ) from None


def is_model(record: type) -> bool:
    return "__pydantic_fields__" in vars(record) and hasattr(record, "model_validate")


def plainly_made(record: type) -> bool:
    """Whether its fields are all that makes a record, and nothing else looks at them."""
    if "__pydantic_fields__" in vars(record):
        return False
    if is_dataclass(record):
        return all(one.init for one in fields(record))
    written_as: Any = record.__struct_config__  # type: ignore[attr-defined]  # It is a struct.
    return written_as.tag is None and not written_as.array_like


def _model_field(name: str, info: Any) -> Field:
    """A field of a pydantic model; with aliases it is written and given under them."""
    given = info.validation_alias if isinstance(info.validation_alias, str) else name
    return Field(
        name,
        info.serialization_alias or name,
        given,
        NOT_FOUND if info.is_required() or info.default_factory else info.default,
        info.default_factory,
    )
