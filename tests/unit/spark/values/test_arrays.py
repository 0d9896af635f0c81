import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
)

from magnetar.errors import UndecodableValue
from magnetar.spark.values.arrays import array_of, binary_array
from magnetar.spark.values.types import ValueType

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SIMPLE = [
    (IntegerType(), st.integers(-(1 << 31), (1 << 31) - 1)),
    (LongType(), st.integers(-(1 << 63), (1 << 63) - 1)),
    (DoubleType(), st.floats(allow_nan=False)),
    (BooleanType(), st.booleans()),
    (StringType(), st.text(max_size=5)),
    (BinaryType(), st.binary(max_size=5)),
]


def arrow_of(kind):
    return to_arrow_type(kind.spark, timezone="UTC")


def simple(pair):
    return st.just((ValueType(pair[0]), st.none() | pair[1]))


def nested(inner):
    def listed(child):
        kind, values = child
        return ValueType(ArrayType(kind.spark), children=(kind,)), st.none() | st.lists(
            values, max_size=3
        )

    def mapped(child):
        kind, values = child
        return ValueType(MapType(StringType(), kind.spark), children=(kind,)), (
            st.none() | st.dictionaries(st.text(max_size=2), values, max_size=3)
        )

    def struct(children):
        fields = [StructField(f"f{at}", kind.spark) for at, (kind, _) in enumerate(children)]
        kinds = tuple(kind for kind, _ in children)
        values = {f"f{at}": value for at, (_, value) in enumerate(children)}
        return ValueType(StructType(fields), children=kinds), (
            st.none() | st.fixed_dictionaries(values)
        )

    return st.one_of(
        inner.map(listed), inner.map(mapped), st.lists(inner, min_size=1, max_size=3).map(struct)
    )


KINDS = st.recursive(st.sampled_from(SIMPLE).flatmap(simple), nested, max_leaves=4)


def shown(kind, value):
    """As Arrow shows it: a map is a list of pairs."""
    if value is None:
        return None
    if isinstance(kind.spark, MapType):
        return [(name, shown(kind.children[0], each)) for name, each in value.items()]
    if isinstance(kind.spark, ArrayType):
        return [shown(kind.children[0], each) for each in value]
    if isinstance(kind.spark, StructType):
        pairs = zip(kind.spark.names, kind.children, strict=True)
        return {name: shown(child, value[name]) for name, child in pairs}
    return value


@given(st.data())
def test_values_of_any_shape_are_in_the_array(data):
    kind, values = data.draw(KINDS)
    rows = data.draw(st.lists(values, max_size=5))
    made = array_of(rows, kind, arrow_of(kind))
    made.validate(full=True)
    assert made.type == arrow_of(kind)
    assert made.to_pylist() == [shown(kind, row) for row in rows]


@pytest.mark.parametrize(
    ("kind", "stored", "expected"),
    [
        (ValueType(DateType()), [-1, None], [date(1969, 12, 31), None]),
        (ValueType(DateType()), ["2026-05-17"], [date(2026, 5, 17)]),
        (ValueType(TimestampType(), 1000), [1500, None], [EPOCH + timedelta(seconds=1.5), None]),
        (ValueType(TimestampType()), [-1], [EPOCH - timedelta(microseconds=1)]),
        (ValueType(TimestampType()), ["1970-01-01T01:00:00+01:00"], [EPOCH]),
        (
            ValueType(TimestampType(), 1000),
            ["1970-01-01T00:00:00.001"],
            [EPOCH.replace(microsecond=1000)],
        ),
        (ValueType(TimestampNTZType()), [1], [EPOCH.replace(microsecond=1, tzinfo=None)]),
        (ValueType(TimeType(), 1_000_000), [1], [time(0, 0, 0, 1000)]),
        (ValueType(TimeType(), 1000), ["23:59:59.999999"], [time(23, 59, 59, 999999)]),
        (ValueType(DecimalType(4, 2)), [b"\xff\x38", None], [Decimal("-2.00"), None]),
        (
            ValueType(DecimalType(4, 2)),
            [Decimal("1.5"), Decimal("1E+1")],
            [Decimal("1.50"), Decimal(10)],
        ),
        (ValueType(DecimalType(38, 0)), [Decimal(10) ** 37], [Decimal(10) ** 37]),
    ],
)
def test_times_and_decimals_are_made_of_what_is_stored(kind, stored, expected):
    made = array_of(stored, kind, arrow_of(kind))
    made.validate(full=True)
    assert made.to_pylist() == expected


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (ValueType(IntegerType()), [1 << 31]),
        (ValueType(LongType()), [1 << 63]),
        (ValueType(DateType()), [1 << 31]),
        (ValueType(DateType()), ["May"]),
        (ValueType(TimestampType(), 1000), [1 << 60]),
        (ValueType(TimeType(), 1000), [86_400_000_000]),
        (ValueType(TimeType()), [-1]),
        (ValueType(DecimalType(4, 2)), [b"\x7f\xff"]),
        (ValueType(DecimalType(4, 2)), [Decimal("0.001")]),
        (ValueType(DecimalType(4, 2)), [Decimal("NaN")]),
        (ValueType(DecimalType(4, 2)), [Decimal("1E+100")]),
    ],
)
def test_what_is_out_of_range_is_no_value(kind, stored):
    with pytest.raises(UndecodableValue, match="out of range"):
        array_of(stored, kind, arrow_of(kind))


def test_bytes_may_be_missing():
    assert binary_array([b"a", None, b""]).to_pylist() == [b"a", None, b""]


def test_neither_pandas_nor_what_computes_is_imported():
    """They cost half a second in each of Spark's workers."""
    program = (
        "import sys, pyarrow as pa\n"
        "from magnetar.spark.values import rows\n"
        "from magnetar.spark.values.arrays import *\n"
        "from magnetar.spark.values.types import *\n"
        "struct = t.StructType([t.StructField('a', t.LongType())])\n"
        "kind = ValueType(struct, children=(ValueType(t.LongType()),))\n"
        "array = array_of([{'a': 1}, None], kind, pa.struct({'a': pa.int64()}))\n"
        "pa.concat_arrays([array, pa.nulls(2, array.type)]).flatten()\n"
        "print([name for name in ('pandas', 'pyarrow.compute') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_an_array_of_no_rows_has_its_type():
    assert array_of([], ValueType(LongType()), pa.int64()).to_pylist() == []
