"""Checks of arguments: ``pulsar-client`` raises ValueError for one of another type. Pure."""


def check_type(kind: type, value: object, name: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(
            f"Argument {name} is expected to be of type '{kind.__name__}' and not "
            f"'{type(value).__name__}'"
        )


def check_type_or_none(kind: type, value: object, name: str) -> None:
    if value is not None and not isinstance(value, kind):
        raise ValueError(
            f"Argument {name} is expected to be either None or of type '{kind.__name__}'"
        )


def check_range(name: str, value: int, least: int, most: int = 2**31 - 1) -> None:
    """Accept a number as their C++ settings do: a native int or unsigned int."""
    if not least <= value <= most:
        raise ValueError(f"Argument {name} is {value}; it must be from {least} to {most}")
