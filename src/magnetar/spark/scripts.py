"""Small files that Spark runs or reads, written so that another process never sees half of one."""

import os
import shlex
from pathlib import Path
from typing import Final

_PLAIN: Final = "/._-+@%,:="


def write_whole(path: Path, text: str, *, executable: bool = False) -> None:
    """Write ``text`` to ``path``, and its folders, unless it is there already."""
    if path.is_file() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(text)
    if executable:
        draft.chmod(0o755)
    draft.replace(path)


def plain(path: str) -> bool:
    """Whether a shell that is given ``path`` without quotes, as Spark does, takes it as it is."""
    return os.name == "nt" or all(each.isalnum() or each in _PLAIN for each in path)


def plain_command(command: str, script: Path) -> str:
    """``command`` itself where it is plain; else ``script``, which is written and runs it.

    Spark asks ``sh -c "command -v ..."`` for the Python it is to run, without quotes: given one
    whose path has a space in it, it finds no data source in Python.
    """
    if plain(command):
        return command
    write_whole(script, f'#!/bin/sh\nexec {shlex.quote(command)} "$@"\n', executable=True)
    return str(script)
