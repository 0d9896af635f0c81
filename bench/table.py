"""Text tables and numbers as people read them. Pure."""

from collections.abc import Collection, Sequence


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], flush_left: Collection[int] = (0,)
) -> str:
    """Columns as wide as they must be; ``flush_left`` are those that are, the others right."""
    columns = list(zip(heads, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(
            cell.ljust(width) if number in flush_left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([line(heads), rule, *map(line, rows)])


def amount(value: float) -> str:
    """Three digits that count: 4.21, 42.1, 421, 4,210, 42.1 k, 4.21 M."""
    if value >= 1e6:
        return f"{_digits(value / 1e6)} M"
    if value >= 1e4:
        return f"{_digits(value / 1e3)} k"
    return f"{value:,.0f}" if value >= 100 else _digits(value)


def _digits(value: float) -> str:
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio(ours: float, theirs: float) -> str:
    return f"{ours / theirs:.2f}" if theirs else "-"


def percent(share: float) -> str:
    return f"{share * 100:.0f} %"
