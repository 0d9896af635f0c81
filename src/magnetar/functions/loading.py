"""The user's code, from the file that a function's configuration names: classes, serdes, schemas.

``py`` is a module (``double.py``), a wheel or zip file, or a folder; without it the code is what
can be imported anyway. A zip may be laid out as Pulsar's: ``src`` with the code, ``deps`` with
wheels. ``import pulsar`` in it brings ``magnetar.compat``.
"""

import hashlib
import importlib
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from magnetar.compat.stand_in import stand_in
from magnetar.errors import InvalidValue

_PULSARS_OWN: Final = {"serde": "magnetar.compat.functions.serde"}
UNPACKED_BYTES_MAX: Final = 1 << 30
"""The largest zip file or wheel, unpacked."""
_PACKED: Final = (".whl", ".zip", ".egg")


class UserCode:
    """What one function may name. Close it: another function may have modules of the same names."""

    def __init__(self, py: str | None) -> None:
        """Raises InvalidValue when there is no such file."""
        self._name = "" if py is None else Path(py).name
        self._paths = [] if py is None else _paths(Path(py))
        sys.path[:0] = self._paths
        importlib.invalidate_caches()

    def find(self, name: str) -> Any:
        """A module, or what a module has: ``double``, ``double.Double``, ``serde.IdentitySerDe``.

        Raises InvalidValue with the cause.
        """
        with _pulsar_is_ours():
            try:
                return self._found(name)
            except Exception as error:
                where = f"in {self._name}" if self._paths else "on the Python path"
                raise InvalidValue(
                    f"{name} is not found {where}: {type(error).__name__}: {error}. Write "
                    "module.Class, or the module of a plain function process(input)"
                ) from error

    def _found(self, name: str) -> Any:
        module, _, attribute = name.rpartition(".")
        if not module:
            return self._module(name)
        found = self._module(module)
        try:
            return getattr(found, attribute)
        except AttributeError:
            if not hasattr(found, "__path__"):
                raise
            return self._module(name)

    def close(self) -> None:
        """Forget its modules. Another thread may do so for another instance just now."""
        for path in self._paths:
            with suppress(ValueError):
                sys.path.remove(path)
        for name, module in sys.modules.copy().items():  # In one step, unlike a list of them.
            file = getattr(module, "__file__", None)
            if file is not None and any(_inside(file, path) for path in self._paths):
                sys.modules.pop(name, None)

    def _module(self, name: str) -> Any:
        return importlib.import_module(_PULSARS_OWN.get(name, name))


def check_unpacked_size(packed: zipfile.ZipFile) -> None:
    """Raise InvalidValue for a zip file or wheel that is not to be unpacked."""
    size = sum(entry.file_size for entry in packed.infolist())
    if size > UNPACKED_BYTES_MAX:
        raise InvalidValue(
            f"{Path(packed.filename or '').name} unpacks to {size:,} bytes, of "
            f"{UNPACKED_BYTES_MAX:,} at most: install what is large where functions run"
        )


@contextmanager
def _pulsar_is_ours() -> Iterator[None]:
    """While user code is imported; a program that has the official client keeps it."""
    before = {name: module for name, module in sys.modules.items() if _is_pulsar(name)}
    if not before:
        stand_in()
    try:
        yield
    finally:
        if not before:
            for name in [name for name in sys.modules if _is_pulsar(name)]:
                del sys.modules[name]


def _is_pulsar(module: str) -> bool:
    return module == "pulsar" or module.startswith("pulsar.")


def _inside(file: str, path: str) -> bool:
    return file == path or file.startswith((f"{path}/", f"{path}\\"))


def _is_ours(folder: Path) -> bool:
    """Whether we have unpacked it: anybody can make a folder of that name where all may write."""
    with suppress(FileNotFoundError):
        return folder.is_dir() and folder.lstat().st_uid == os.getuid()
    return False


def _paths(py: Path) -> list[str]:
    if py.is_dir():
        return [str(py)]
    if not py.is_file():
        raise InvalidValue(f"there is no file {py}: give the module, wheel or zip file as py")
    if py.suffix not in _PACKED:
        return [str(py.parent)]
    digest = hashlib.sha256(py.read_bytes()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"magnetar-function-{digest}"
    if not _is_ours(folder):
        with zipfile.ZipFile(py) as packed:
            check_unpacked_size(packed)
            unpacked = Path(tempfile.mkdtemp(prefix="magnetar-function-"))
            packed.extractall(unpacked)
        try:
            unpacked.rename(folder)  # Another process may have been faster: its copy is the same.
        except OSError:
            folder = unpacked
    sources = [path for path in sorted(folder.rglob("src")) if path.is_dir()][:1]
    wheels = sorted(folder.rglob("deps/*.whl"))
    return [
        str(sources[0] if sources else folder),
        *(path for each in wheels for path in _paths(each)),
    ]
