"""``magnetar export``: files for the programs around a broker, as they come with the package."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

import click

from magnetar.errors import InvalidValue

_KINDS: Final = {
    "dashboards": ("dashboards", "grafana.yml", "prometheus.yml"),
    "service": ("magnetar.service", "standalone.conf"),
}


@click.command(epilog="docs/metrics.md and docs/install.md say what to do with them.")
@click.argument("kind", type=click.Choice(list(_KINDS)))
@click.argument("folder", type=click.Path(path_type=Path))
def export(kind: str, folder: Path) -> None:
    """Write files for other programs into FOLDER, which is made; files of these names are replaced.

    dashboards: for Grafana, with what Grafana and Prometheus must be told. service: the unit for
    systemd and the settings that it starts a broker with.

    Example: magnetar export dashboards /etc/grafana/dashboards
    """
    there = files("magnetar.tools").joinpath("deploy")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in _KINDS[kind]:
            _write(there.joinpath(name), folder)
    except OSError as error:
        raise InvalidValue(f"cannot write to {folder}: {error.strerror}") from error


def _write(source: Traversable, folder: Path) -> None:
    if source.is_dir():
        for each in sorted(source.iterdir(), key=lambda found: found.name):
            _write(each, folder)
        return
    target = folder / source.name
    target.write_bytes(source.read_bytes())
    click.echo(str(target))
