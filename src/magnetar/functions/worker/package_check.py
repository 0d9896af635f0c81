"""Whether a function's code can run here: its imports are there, and its class.

    python -m magnetar.functions.worker.package_check FILE CLASS

The code is imported, so that this is a process of its own. It prints what is wrong, and what to do,
and ends with 1.
"""

import ast
import asyncio
import importlib.metadata
import importlib.util
import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from magnetar.errors import InvalidValue
from magnetar.functions.loading import UserCode, check_unpacked_size

TIMEOUT_S: Final = 60.0
PRINTED_BYTES_MAX: Final = 64 * 1024
"""That are kept of what code prints when it is imported."""
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9][\w.-]*")
_OURS: Final = {"pulsar", "serde"}  # Brought by ``UserCode``.


async def check_package(file: Path, class_name: str) -> None:
    """Raise InvalidValue unless the code of a package can be loaded by this Python."""
    command = [sys.executable, "-m", __spec__.name, str(file), class_name]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(TIMEOUT_S):
            said = await _end_of(process.stdout)
            await process.wait()
    except TimeoutError:
        raise InvalidValue(
            f"{file.name} was not imported within {TIMEOUT_S:g} s: do what takes long in process()"
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            with suppress(TimeoutError):  # Its children may go on, and have its output.
                async with asyncio.timeout(1.0):
                    await _end_of(process.stdout)
            await process.wait()
    if process.returncode:
        lines = said.decode(errors="replace").strip().splitlines()
        raise InvalidValue(lines[-1] if lines else f"{file.name}: its import ends the process")


async def _end_of(output: asyncio.StreamReader | None) -> bytes:
    """The last that a process prints, of which there may be any amount."""
    assert output is not None, "it was asked for"
    kept = b""
    while read := await output.read(PRINTED_BYTES_MAX):
        kept = (kept + read)[-PRINTED_BYTES_MAX:]
    return kept


def missing(file: Path) -> Iterator[str]:
    """What the code of a package needs and this Python has not, each with where it is said."""
    sources, requirements, own = _contents(file)
    for name, text in requirements.items():
        for required in text.splitlines():
            found = _REQUIREMENT.match(required.strip())
            if found is not None and not _installed(found[0]):
                yield f"{name} requires {required.strip()}, which is not installed"
    for name, text in sources.items():
        for module, line in _imported(text):
            if (
                module not in own
                and module not in _OURS
                and importlib.util.find_spec(module) is None
            ):
                yield f"{name} line {line} imports {module}, which is not installed"


def _contents(file: Path) -> tuple[dict[str, str], dict[str, str], set[str]]:
    """The Python files of a package, what it says that it requires, and its own modules."""
    if not zipfile.is_zipfile(file):
        return {file.name: file.read_text(errors="replace")}, {}, {file.stem}
    sources: dict[str, str] = {}
    requirements: dict[str, str] = {}
    own: set[str] = set()
    with zipfile.ZipFile(file) as packed:
        check_unpacked_size(packed)
        names = packed.namelist()
        wheels = {Path(name).name.split("-")[0] for name in names if name.endswith(".whl")}
        for name in names:
            path = Path(name)
            own.update(path.with_suffix("").parts)
            if path.suffix == ".py":
                sources[name] = packed.read(name).decode(errors="replace")
            elif path.name == "requirements.txt":
                requirements[name] = packed.read(name).decode(errors="replace")
            elif path.name == "METADATA" and path.parent.suffix == ".dist-info":
                lines = packed.read(name).decode(errors="replace").splitlines()
                needs = [line[15:] for line in lines if line.startswith("Requires-Dist: ")]
                requirements[name] = "\n".join(need for need in needs if "extra ==" not in need)
    return sources, requirements, own | wheels


def _imported(text: str) -> Iterator[tuple[str, int]]:
    """The top-level modules that code imports without a ``try`` around it, and the lines."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return  # Its import says so better.
    tried = {
        id(inside)
        for node in ast.walk(tree)
        if isinstance(node, ast.Try)
        for inside in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in tried:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name.partition(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0], node.lineno


def _installed(distribution: str) -> bool:
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def main(file: Path, class_name: str) -> int:
    try:
        found = list(missing(file))
    except InvalidValue as error:
        sys.stdout.write(f"{error}\n")
        return 1
    if found:
        remedy = "install it where the functions worker runs, or put it into the package"
        sys.stdout.write(f"{'; '.join(found)}: {remedy}\n")
        return 1
    code = UserCode(str(file))
    try:
        code.find(class_name)
    except InvalidValue as error:
        sys.stdout.write(f"className {error}\n".replace("\n", " ") + "\n")
        return 1
    except BaseException as error:  # noqa: BLE001 - whatever the user's code raises
        sys.stdout.write(f"{file.name} fails when it is imported: {error!r}\n")
        return 1
    finally:
        code.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
