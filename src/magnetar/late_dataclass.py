"""Dataclasses that are quick to define: a method is compiled when it is first called.

A broker's start defines some 200 classes. Compiling all methods of theirs, as the standard library
does, took a quarter of it.
"""

import dataclasses
from collections.abc import Callable
from functools import partial
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - for type checkers it is that
else:

    def dataclass(cls: type | None = None, /, **options: Any) -> Any:
        """The class as ``dataclasses.dataclass`` makes it, without an order."""
        return partial(_made, **options) if cls is None else _made(cls, **options)


def _made(cls: type, *, eq: bool = True, frozen: bool = False, **options: Any) -> Any:
    shows = options.pop("repr", True)
    # Python gives a class that defines __eq__ a __hash__ of None.
    own = {name for name, value in vars(cls).items() if value is not None}
    if cls.__doc__ is None:  # Else that would be made of the signature, which takes milliseconds.
        cls.__doc__ = cls.__name__
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)

    def give(name: str, method: Any) -> None:
        if name not in own:
            setattr(made, name, method)

    give("__init__", _late(made, "__init__", partial(_init, frozen=frozen)))
    if shows:
        give("__repr__", _repr)
    if eq:
        give("__eq__", _late(made, "__eq__", _eq))
        give("__hash__", _late(made, "__hash__", _hash) if frozen else None)
    if frozen:
        _freeze(made)
    return made


def _late(cls: type, name: str, text: Callable[[Any, dict[str, Any]], str]) -> Callable[..., Any]:
    """A method that compiles its text and puts the outcome in its own place, when it is called."""

    def first(self: object, *given: Any, **named: Any) -> Any:
        names: dict[str, Any] = {"_set": object.__setattr__, "_absent": dataclasses.MISSING}
        exec(f"def {name}{text(cls, names)}", names)  # noqa: S102 - made of names of fields
        method = names[name]
        method.__qualname__, method.__module__ = f"{cls.__qualname__}.{name}", cls.__module__
        setattr(cls, name, method)
        return method(self, *given, **named)

    return first


def _init(cls: Any, names: dict[str, Any], *, frozen: bool) -> str:
    places = ["self"]
    keywords: list[str] = []
    lines: list[str] = []
    for field in dataclasses.fields(cls):
        name, default, value = field.name, f"_of_{field.name}", field.name
        made = field.default_factory is not dataclasses.MISSING
        given = field.default is not dataclasses.MISSING
        names[default] = field.default_factory if made else field.default
        if field.init:
            if made:
                value = f"{default}() if {name} is _absent else {name}"
            argument = f"{name}=_absent" if made else f"{name}={default}" if given else name
            (keywords if field.kw_only else places).append(argument)
        elif made or given:
            value = f"{default}()" if made else default
        else:
            continue
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    arguments = ", ".join([*places, *(["*", *keywords] if keywords else [])])
    return f"({arguments}):\n " + "\n ".join(lines or ["pass"])


def _eq(cls: Any, _: dict[str, Any]) -> str:
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    mine, others = ("".join(f"{whose}.{name}, " for name in names) for whose in ("self", "other"))
    return f"""(self, other):
 if other.__class__ is self.__class__:
  return ({mine}) == ({others})
 return NotImplemented"""


def _hash(cls: Any, _: dict[str, Any]) -> str:
    fields = dataclasses.fields(cls)
    names = [
        field.name for field in fields if (field.compare if field.hash is None else field.hash)
    ]
    return f"(self):\n return hash(({''.join(f'self.{name}, ' for name in names)}))"


@recursive_repr()
def _repr(self: Any) -> str:
    shown = [f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr]
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _freeze(cls: Any) -> None:
    """Refuse changes, but for copies and what was pickled."""
    names = {field.name for field in dataclasses.fields(cls)}

    def set_(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    cls.__setattr__, cls.__delattr__ = set_, delete
    if "__slots__" in vars(cls) and not hasattr(cls, "__setstate__"):
        cls.__getstate__, cls.__setstate__ = _state, _set_state


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
