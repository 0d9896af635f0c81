"""The broker that systemd runs on this machine: with which settings, and where its data is."""

import shlex
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

UNITS: Final = tuple(
    Path(folder) / "magnetar.service"
    for folder in (
        "/etc/systemd/system",
        "/usr/local/lib/systemd/system",
        "/usr/lib/systemd/system",
    )
)


class Service(NamedTuple):
    """The command with which a systemd unit starts a broker."""

    unit: Path
    conf: Path | None
    data_dir: Path | None


def installed(units: Iterable[Path] | None = None) -> Service | None:
    """The first unit that starts a broker, in the order in which systemd looks for them."""
    for unit in UNITS if units is None else units:
        with suppress(OSError, ValueError):
            for line in unit.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
                if line.startswith("ExecStart="):
                    return _service(unit, shlex.split(line.partition("=")[2]))
    return None


def _service(unit: Path, words: list[str]) -> Service:
    said: dict[str, Path] = {}
    for number, word in enumerate(words):
        name, joined, value = word.partition("=")
        if name in ("--conf", "--broker-conf", "-c", "--data-dir"):
            found = value if joined else "".join(words[number + 1 : number + 2])
            said["data" if name == "--data-dir" else "conf"] = Path(found)
    return Service(unit, said.get("conf"), said.get("data"))
