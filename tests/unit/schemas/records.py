"""The same records as dataclasses, pydantic models and msgspec structs."""

from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated
from uuid import UUID

import msgspec
import pydantic

from magnetar.schemas.records import AvroType, Float32, Int32


class Colour(Enum):
    RED = "#f00"
    BLUE = "#00f"


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


@dataclass
class Item:
    name: str
    count: Int32 = 1


@dataclass
class Order:
    number: int
    note: str | None = None
    price: float = 0.0
    paid: bool = False
    items: list[Item] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)


@dataclass
class Everything:
    moment: datetime
    day: date
    hour: time
    amount: Decimal
    identity: UUID
    raw: bytes
    colour: Colour
    size: Size
    names: set[str]
    places: tuple[int, ...]
    either: int | str
    single: Float32
    parent: "Everything | None" = None
    again: Colour = Colour.RED


@dataclass
class Cents:
    amount: Annotated[
        Decimal, AvroType({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2})
    ]


class ModelItem(pydantic.BaseModel):
    name: str
    count: Int32 = 1


class Model(pydantic.BaseModel):
    number: int = pydantic.Field(gt=0)
    note: str | None = None
    colour: Colour = Colour.BLUE
    items: list[ModelItem] = pydantic.Field(default_factory=list)
    customer: str = pydantic.Field("nobody", alias="customerName")


class Struct(msgspec.Struct, rename="camel"):
    order_number: int
    note: str | None = None
    items: list[Item] = []
