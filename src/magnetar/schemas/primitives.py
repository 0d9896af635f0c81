"""Schemas of single values: texts, numbers, dates and times, as Java's client writes them. Pure.

Numbers are big-endian. What Pulsar calls DATE, TIME and TIMESTAMP are milliseconds since the epoch;
INSTANT has seconds and nanoseconds, LOCAL_DATE days, LOCAL_TIME nanoseconds of the day, and
LOCAL_DATE_TIME both. Python's times have microseconds: what is finer is cut off.
"""

import struct
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, ClassVar, Final, TypeVar

from magnetar.checks import check_text
from magnetar.errors import InvalidValue, UndecodableValue
from magnetar.model.schemas import SchemaInfo, SchemaType

from .schema import Schema

V = TypeVar("V")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_DAY_NS: Final = 86_400_000_000_000
_SECOND: Final = timedelta(seconds=1)
_MILLISECOND: Final = timedelta(milliseconds=1)
_MICROSECOND: Final = timedelta(microseconds=1)


class BytesSchema(Schema[bytes]):
    """Payloads as they are: what producers and consumers have without a schema."""

    info: SchemaInfo | None = None

    def encode(self, value: bytes | bytearray | memoryview) -> bytes:
        if isinstance(value, bytearray | memoryview):
            return bytes(value)
        _check_type("bytes", value, bytes)
        return value

    def decode(self, data: bytes) -> bytes:
        return data


class StringSchema(Schema[str]):
    """Text, in UTF-8."""

    info = SchemaInfo(SchemaType.STRING)

    def encode(self, value: str) -> bytes:
        check_text("a value of StringSchema", value)
        return value.encode()

    def decode(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise UndecodableValue(f"not text in UTF-8: {error}") from None


class _Packed(Schema[V]):
    """A value that is written as a few numbers of fixed size."""

    info: SchemaInfo
    form: ClassVar[struct.Struct]
    kind: ClassVar[type]

    def encode(self, value: V) -> bytes:
        _check_type(self.info.type.name, value, self.kind)
        try:
            return self.form.pack(*self._parts(value))
        except struct.error:
            raise InvalidValue(
                f"{value!r} is out of range for {self.info.type.name}: take a wider schema"
            ) from None

    def decode(self, data: bytes) -> V:
        try:
            return self._whole(*self.form.unpack(data))
        except (struct.error, ValueError, OverflowError) as error:
            raise UndecodableValue(
                f"{len(data)} bytes that are no {self.info.type.name}: {error}"
            ) from None

    def _parts(self, value: V) -> tuple[Any, ...]:
        return (value,)

    def _whole(self, *parts: Any) -> V:
        found: V = parts[0]
        return found


class BooleanSchema(_Packed[bool]):
    """True and False."""

    info = SchemaInfo(SchemaType.BOOLEAN)
    form = struct.Struct(">?")
    kind = bool


class Int8Schema(_Packed[int]):
    """Whole numbers of 8 bits, with sign."""

    info = SchemaInfo(SchemaType.INT8)
    form = struct.Struct(">b")
    kind = int


class Int16Schema(_Packed[int]):
    """Whole numbers of 16 bits, with sign."""

    info = SchemaInfo(SchemaType.INT16)
    form = struct.Struct(">h")
    kind = int


class Int32Schema(_Packed[int]):
    """Whole numbers of 32 bits, with sign."""

    info = SchemaInfo(SchemaType.INT32)
    form = struct.Struct(">i")
    kind = int


class Int64Schema(_Packed[int]):
    """Whole numbers of 64 bits, with sign."""

    info = SchemaInfo(SchemaType.INT64)
    form = struct.Struct(">q")
    kind = int


class FloatSchema(_Packed[float]):
    """Numbers of single precision: 32 bits."""

    info = SchemaInfo(SchemaType.FLOAT)
    form = struct.Struct(">f")
    kind = float

    def encode(self, value: float) -> bytes:
        try:
            return super().encode(value)
        except OverflowError:
            raise InvalidValue(f"{value!r} is out of range for FLOAT: take DoubleSchema") from None


class DoubleSchema(_Packed[float]):
    """Numbers of double precision: Python's own."""

    info = SchemaInfo(SchemaType.DOUBLE)
    form = struct.Struct(">d")
    kind = float


class TimestampSchema(_Packed[datetime]):
    """Points in time, to the millisecond. Naive ones are refused; what comes back is in UTC."""

    info = SchemaInfo(SchemaType.TIMESTAMP)
    form = struct.Struct(">q")
    kind = datetime

    def _parts(self, value: datetime) -> tuple[int]:
        return (since_epoch(value) // _MILLISECOND,)

    def _whole(self, milliseconds: int) -> datetime:
        return _EPOCH + milliseconds * _MILLISECOND


class DateSchema(TimestampSchema):
    """Points in time, as Java's ``Date``."""

    info = SchemaInfo(SchemaType.DATE)


class TimeSchema(_Packed[time]):
    """Times of day to the millisecond, as Java's ``Time`` in a process whose zone is UTC."""

    info = SchemaInfo(SchemaType.TIME)
    form = struct.Struct(">q")
    kind = time

    def _parts(self, value: time) -> tuple[int]:
        return (of_day(value) // _MILLISECOND,)

    def _whole(self, milliseconds: int) -> time:
        return (_EPOCH + milliseconds * _MILLISECOND).time()


class InstantSchema(_Packed[datetime]):
    """Points in time. Naive ones are refused; what comes back is in UTC."""

    info = SchemaInfo(SchemaType.INSTANT)
    form = struct.Struct(">qi")
    kind = datetime

    def _parts(self, value: datetime) -> tuple[int, int]:
        seconds, rest = divmod(since_epoch(value), _SECOND)
        return seconds, rest // _MICROSECOND * 1000

    def _whole(self, seconds: int, nanoseconds: int) -> datetime:
        return _EPOCH + seconds * _SECOND + nanoseconds // 1000 * _MICROSECOND


class LocalDateSchema(_Packed[date]):
    """Days of the calendar."""

    info = SchemaInfo(SchemaType.LOCAL_DATE)
    form = struct.Struct(">q")
    kind = date

    def _parts(self, value: date) -> tuple[int]:
        if isinstance(value, datetime):
            raise InvalidValue(f"{value!r} has a time of day: take its date()")
        return (value.toordinal() - _EPOCH_DAY,)

    def _whole(self, day: int) -> date:
        return date.fromordinal(_EPOCH_DAY + day)


class LocalTimeSchema(_Packed[time]):
    """Times of day, without a zone."""

    info = SchemaInfo(SchemaType.LOCAL_TIME)
    form = struct.Struct(">q")
    kind = time

    def _parts(self, value: time) -> tuple[int]:
        return (of_day(value) // _MICROSECOND * 1000,)

    def _whole(self, nanoseconds: int) -> time:
        return time_of(nanoseconds)


class LocalDateTimeSchema(_Packed[datetime]):
    """Date and time of day, without a zone."""

    info = SchemaInfo(SchemaType.LOCAL_DATE_TIME)
    form = struct.Struct(">qq")
    kind = datetime

    def _parts(self, value: datetime) -> tuple[int, int]:
        day = value.toordinal() - _EPOCH_DAY
        return day, of_day(value.timetz()) // _MICROSECOND * 1000

    def _whole(self, day: int, nanoseconds: int) -> datetime:
        return datetime.combine(date.fromordinal(_EPOCH_DAY + day), time_of(nanoseconds))


def since_epoch(value: datetime) -> timedelta:
    """Raises InvalidValue for a naive time."""
    if value.tzinfo is None:
        raise InvalidValue(f"{value!r} has no time zone: give it one, as by astimezone()")
    return value - _EPOCH


def of_day(value: time) -> timedelta:
    """Raises InvalidValue for a time with a zone."""
    if value.tzinfo is not None:
        raise InvalidValue(f"{value!r} has a time zone: convert it, and take the zone off")
    return timedelta(
        hours=value.hour,
        minutes=value.minute,
        seconds=value.second,
        microseconds=value.microsecond,
    )


def time_of(nanoseconds: int) -> time:
    """The time of day after so many nanoseconds. Raises ValueError."""
    if not 0 <= nanoseconds < _DAY_NS:
        raise ValueError(f"{nanoseconds} nanoseconds are no time of day")
    return (_EPOCH + nanoseconds // 1000 * _MICROSECOND).time()


def _check_type(name: str, value: object, kind: type) -> None:
    if type(value) is kind:
        return
    fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        fits = True
    if not fits:
        raise InvalidValue(
            f"a value of {name} must be {kind.__name__}, not {type(value).__name__}: convert it"
        )
