"""``make soak``: mixed load with kills for 20 minutes; memory and descriptors stay flat.

    python -m bench.soak [--minutes 20] [--seed N] [--save]

By hand, not in CI. A broker process as a user runs it, some settings tightened so that minutes show
what hours would; everything that clients say goes through a network that misbehaves. It ends with a
table of what must hold; exit code 1 when something did not. ``--save`` keeps the summary in
bench/results/soak.txt and the picture in docs/pictures/soak.svg.
"""

import random
import signal
import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console

from bench import machine

from . import verdict
from .picture import draw
from .run import Soak
from .summary import lines, show

ROOT = Path(__file__).parents[2]
SUMMARY = ROOT / "bench" / "results" / "soak.txt"
PICTURE = ROOT / "docs" / "pictures" / "soak.svg"


@click.command()
@click.option("--minutes", default=20.0, show_default=True, help="Of load; two more to end.")
@click.option("--seed", type=int, help="Of what comes by chance. [a new one, printed]")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where data goes. [a temporary]")
@click.option("--picture", type=click.Path(path_type=Path), help="Draw it there.")
@click.option("--save", is_flag=True, help="Keep summary and picture in the repository.")
def main(
    *, minutes: float, seed: int | None, data_dir: Path | None, picture: Path | None, save: bool
) -> None:
    """Run, show, judge."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # So that the broker ends with us.
    seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    console = Console()
    console.print(f"soak of {minutes:g} minutes, --seed {seed}")
    with tempfile.TemporaryDirectory(dir=data_dir) as name:
        head = machine.describe(Path(name))
        soak = Soak(Path(name) / "data", minutes, seed, console)
        end = soak.run()
        found = verdict.checks(soak.under_load, soak.tally, end)
        if not all(check.fine for check in found):
            console.print(soak.broker.log_text(), markup=False, highlight=False)
    show(console, found)
    text = "\n".join([*head, *lines(soak, found)])
    click.echo(text)
    title = f"{minutes:g} minutes of mixed load with kills"
    for path in [*([PICTURE] if save else []), *([picture] if picture else [])]:
        draw(soak.samples, soak.ends, title, path)
    if save:
        SUMMARY.write_text(text + "\n", encoding="utf-8")
    sys.exit(0 if all(check.fine for check in found) else 1)


if __name__ == "__main__":
    main()
