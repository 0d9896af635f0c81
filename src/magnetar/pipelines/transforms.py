"""The functions of Python beside a pipeline's file, found by the names that its steps give."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark import cloudpickle
from pyspark.sql import DataFrame

from magnetar.errors import InvalidValue

Transform = Callable[..., DataFrame]


def find(location: str, name: str, folder: Path) -> Transform:
    """The function ``name``, as ``module.function``, of a module in ``folder``.

    What is defined in the modules there goes to workers with the queries that use it, so that they
    need not have these files. Raises InvalidValue.
    """
    module_name, _, function = name.rpartition(".")
    first = module_name.partition(".")[0]
    if not ((folder / f"{first}.py").is_file() or (folder / first).is_dir()):
        raise InvalidValue(f"{location}: there is no {first}.py in {folder}")
    _forget_others(first, folder)
    sys.path.insert(0, str(folder))
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise InvalidValue(f"{location}: {module_name} cannot be imported: {reason}") from error
    finally:
        sys.path.remove(str(folder))
    found = getattr(module, function, None)
    if not callable(found):
        raise InvalidValue(f"{location}: {module_name} has no function {function}")
    for each in list(sys.modules.values()):
        if _lies_in(each, folder):
            cloudpickle.register_pickle_by_value(each)  # type: ignore[no-untyped-call]  # theirs
    return found  # type: ignore[no-any-return]  # what it returns is checked when it is called


def _forget_others(first: str, folder: Path) -> None:
    """A module of that name from elsewhere, which another pipeline of this process has."""
    for name in [one for one in sys.modules if one.partition(".")[0] == first]:
        if not _lies_in(sys.modules[name], folder):
            del sys.modules[name]


def _lies_in(module: object, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and Path(file).is_relative_to(folder)
