"""What the late dataclass makes behaves as what the standard library's makes."""

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from magnetar.late_dataclass import dataclass

OPTIONS = [
    {},
    {"slots": True},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"slots": True, "eq": False},
    {"frozen": True, "slots": True, "eq": False, "repr": False},
    {"frozen": True, "slots": True, "kw_only": True},
]


def with_fields() -> type:
    class Shape:
        """Has every kind of field."""

        KIND: ClassVar[int] = 7
        name: str
        size: int = 3
        parts: list[int] = field(default_factory=list)
        seen: int = field(default=0, compare=False, repr=False)
        made: str = field(init=False, default="here")
        late: dict[str, int] = field(init=False, default_factory=dict)
        last: str = field(default="z", kw_only=True)

    return Shape


def with_own_methods() -> type:
    class Shape:
        """Has methods of its own, and does something when it was made."""

        name: str
        size: int = 3
        twice: int = field(init=False, default=0)

        def __post_init__(self) -> None:
            object.__setattr__(self, "twice", 2 * self.size)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and other.name == self.name

        def __repr__(self) -> str:
            return f"<{self.name}>"

        def __hash__(self) -> int:
            return 5

    return Shape


def hashable() -> type:
    class Shape:
        """Has a hash where it is frozen."""

        name: str
        size: int = 3
        seen: int = field(default=0, hash=False)

    return Shape


def outcome(call: Any) -> Any:
    try:
        return call()
    except (TypeError, AttributeError) as error:
        return type(error), str(error)


def what_shows(cls: Any) -> list[Any]:
    one, other = cls(name="a"), cls(name="a", size=4)
    return [
        outcome(cls),
        outcome(lambda: cls(1, 2, 3, 4, 5, 6, 7)),
        outcome(lambda: cls(name="a", none=1)),
        outcome(lambda: cls("a", 5).size),
        repr(one) if "object at" not in repr(one) else None,
        one == cls(name="a"),
        one == other,
        one == "a",
        outcome(lambda: hash(one) == hash(cls(name="a"))),
        outcome(lambda: hash(one)) if isinstance(outcome(lambda: hash(one)), tuple) else None,
        outcome(lambda: setattr(one, "size", 9)),
        isinstance(outcome(lambda: setattr(one, "other", 9)), tuple),
        outcome(lambda: delattr(one, "size")),
        [(each.name, each.init, each.repr, each.compare) for each in dataclasses.fields(cls)],
        cls.__match_args__,
        dataclasses.asdict(other),
        dataclasses.replace(other, name="b").name,
        [getattr(copy.copy(other), each.name) for each in dataclasses.fields(cls)],
        cls.__init__.__qualname__,
    ]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("shape", [with_fields, with_own_methods, hashable])
def test_it_shows_what_the_standard_one_does(shape, options):
    ours, standard = dataclass(**options)(shape()), dataclasses.dataclass(**options)(shape())
    assert what_shows(ours) == what_shows(standard)


@dataclass(frozen=True, slots=True)
class Base:
    name: str
    parts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Derived(Base):
    size: int = 1


def test_a_derived_one_has_the_fields_of_both_and_changes_neither():
    one = Derived("a", (1,), 2)
    assert (one.name, one.parts, one.size) == ("a", (1,), 2)
    assert one != Base("a", (1,))
    assert {one, Derived("a", (1,), 2)} == {one}
    with pytest.raises(FrozenInstanceError):
        one.name = "b"
    assert Base("a") == Base("a")
    assert repr(one) == "Derived(name='a', parts=(1,), size=2)"


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_frozen_one_is_pickled(protocol):
    one = Derived("a", (1,), 2)
    assert pickle.loads(pickle.dumps(one, protocol)) == one


def test_each_list_is_its_own():
    @dataclass(slots=True)
    class Holder:
        items: list[int] = field(default_factory=list)

    first, second = Holder(), Holder()
    first.items.append(1)
    assert second.items == []
    assert Holder([4]).items == [4]


def test_methods_are_compiled_once_when_they_are_called():
    @dataclass(frozen=True, slots=True)
    class Value:
        name: str

    before = Value.__init__
    one, _ = Value("a"), Value("b")
    after = Value.__init__
    assert before is not after
    assert after.__code__.co_varnames == ("self", "name")
    assert Value("c") != one
    assert Value.__init__ is after


def test_one_that_is_ordered_is_refused():
    with pytest.raises(ValueError, match="order"):
        dataclass(order=True)(hashable())


def test_a_circle_is_shown():
    @dataclass
    class Ring:
        next: Any = None

    one = Ring()
    one.next = one
    assert repr(one).endswith("Ring(next=...)")
