"""Writes docs/client/options.md from the settings of the client: their defaults and comments.

python generate/options.py            write it
python generate/options.py --check    exit with 1 when it is not what would be written
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
CLIENT: Final = ROOT / "src" / "magnetar" / "client"
TARGET: Final = ROOT / "docs" / "client" / "options.md"

HEADER: Final = """\
# Every option

The keyword arguments of the client, with their defaults. The blocking client takes the same.
Written by `make generate` from the classes that check them: change those, never this page.
"""

HEAD: Final = "| option | default | unit | what it is |\n|---|---|---|---|\n"

# A heading, what is said below it, the file and the class, and the class whose arguments they are.
TABLES: Final = (
    ("Client", "`Client(service_url, ...)`", "config.py", "ClientConfig", "ClientOptions"),
    (
        "Producers",
        "`client.create_producer(topic, schema=None, ...)`",
        "producers/config.py",
        "ProducerConfig",
        "ProducerOptions",
    ),
    (
        "Consumers",
        "`client.subscribe(topic, subscription, schema=None, listener=None, ...)`",
        "consumers/config.py",
        "ConsumerConfig",
        "ConsumerOptions",
    ),
    (
        "Readers",
        "`client.create_reader(topic, start=EARLIEST_MESSAGE, inclusive=False, ...)`",
        "consumers/config.py",
        "ConsumerConfig",
        "ReaderOptions",
    ),
    (
        "Table views",
        "`client.create_table_view(topic, subscription=None, schema=None, ...)`",
        "consumers/config.py",
        "ConsumerConfig",
        "TableViewOptions",
    ),
)
UNITS: Final = {
    "_s": "seconds",
    "_ms": "milliseconds",
    "_bytes": "bytes",
    "_bytes_max": "bytes",
    "message_size_max": "bytes",
}
COMMENT: Final = re.compile(r"#(?! noqa| type:) *(.*)$")


def page() -> Iterator[str]:
    yield HEADER
    for title, call, file, config, options in TABLES:
        source = (CLIENT / file).read_text()
        classes = {
            node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)
        }
        names = set(_names(classes, options))
        yield f"\n## {title}\n\n{call}\n\n{HEAD}"
        for field in classes[config].body:
            if isinstance(field, ast.AnnAssign) and ast.unparse(field.target) in names:
                yield _row(field, source.splitlines())


def _names(classes: dict[str, ast.ClassDef], options: str) -> Iterator[str]:
    """The keyword arguments, with those that the class inherits."""
    found = classes[options]
    for base in found.bases:
        if isinstance(base, ast.Name) and base.id in classes:
            yield from _names(classes, base.id)
    for field in found.body:
        if isinstance(field, ast.AnnAssign):
            yield ast.unparse(field.target)


def _row(field: ast.AnnAssign, lines: list[str]) -> str:
    name = ast.unparse(field.target)
    unit = next((unit for end, unit in UNITS.items() if name.endswith(end)), "")
    comment = _comment(field, lines)
    assert comment, f"{name} has no comment: say what it is, behind it or above it"
    return f"| `{name}` | {_default(field)} | {unit} | {comment.replace('``', '`')} |\n"


def _comment(field: ast.AnnAssign, lines: list[str]) -> str:
    """What stands behind a field, or in lines of their own above it."""
    above = []
    at = field.lineno - 2
    while lines[at].lstrip().startswith("#"):
        above.append(COMMENT.sub(r"\1", lines[at].strip()))
        at -= 1
    assert field.end_lineno is not None
    behind = [COMMENT.search(line) for line in lines[field.lineno - 1 : field.end_lineno]]
    return " ".join([*reversed(above), *(found[1] for found in behind if found)])


def _default(field: ast.AnnAssign) -> str:
    value = field.value
    if isinstance(value, ast.Call):  # field(default_factory=dict), field(default=None, ...)
        given = {one.arg: one.value for one in value.keywords}
        if "default" not in given:
            return "`{}`"
        value = given["default"]
    assert value is not None
    if isinstance(value, ast.BinOp):
        return f"`{eval(ast.unparse(value)):,}`"  # noqa: S307 - it is our own source.
    if isinstance(value, ast.Constant) and type(value.value) in {int, float}:
        return f"`{value.value:,}`".replace(".0`", "`")
    return f"`{ast.unparse(value)}`"


def main() -> int:
    written = "".join(page())
    if "--check" not in sys.argv:
        TARGET.write_text(written)
        return 0
    if TARGET.read_text() == written:
        return 0
    print(f"{TARGET.relative_to(ROOT)} is not what the client's settings are: make generate")
    return 1


if __name__ == "__main__":
    sys.exit(main())
