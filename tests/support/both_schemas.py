"""The same records, defined once by the official client's classes and once by ours."""

from enum import Enum
from types import SimpleNamespace

from pulsar import schema as official

from magnetar.compat import schema as ours


class Color(Enum):
    RED = 1
    GREEN = 2


def records(of):
    """Records of many shapes, by one of the two packages."""

    class Inner(of.Record):
        x = of.Integer()
        label = of.String(default="none", required_default=True)

    class Named(of.Record):
        _avro_namespace = "ns.of"
        b = of.Long(required=True)
        a = of.Double(default=1.5)

    class Sorted(of.Record):
        _sorted_fields = True
        z = of.String()
        y = of.Boolean()
        x = of.Boolean(default=True)

    class All(of.Record):
        null = of.Null()
        flag = of.Boolean()
        number = of.Integer(required=True)
        big = of.Long(default=5)
        real = of.Float()
        precise = of.Double(required_default=True)
        raw = of.Bytes()
        text = of.String(required=True, default="x")
        color = Color
        other = of.CustomEnum(Color, default=Color.GREEN, required_default=True)
        inner = Inner
        again = Inner()
        required = Inner(required=True)
        named = Named(default=None)
        texts = of.Array(of.String())
        inners = of.Array(Inner())
        nested = of.Array(of.Array(of.Integer()))
        colors = of.Array(of.CustomEnum(Color))
        numbers = of.Map(of.Integer())
        by_name = of.Map(Inner())
        maps = of.Map(of.Array(of.String()), default={"a": ["b"]})

    class Plain(of.Record):
        a = of.String()
        b = of.Integer()
        c = of.Array(of.String())
        d = of.Boolean()
        color = Color
        inner = Inner
        inners = of.Array(Inner())
        by_name = of.Map(Inner())

    return SimpleNamespace(Inner=Inner, Named=Named, Sorted=Sorted, All=All, Plain=Plain, of=of)


OFFICIAL, OURS = records(official), records(ours)


def filled(records):
    """A Plain with something in every field."""
    return records.Plain(
        a="text",
        b=7,
        c=["x", "y"],
        d=True,
        color=Color.GREEN,
        inner=records.Inner(x=1),
        inners=[{"x": 2}, {"x": 3, "label": "three"}],
        by_name={"k": {"x": 4}},
    )
