"""``make soak-semantics``: every feature in use at once for 10 minutes, with faults by chance.

    python -m bench.soak.semantics [--minutes 10] [--seed N] [--save]

By hand, not in CI. It ends with a line for each feature: what was answered, delivered and
acknowledged. Exit code 1 when something was lost, out of order, or stays in a backlog, or when a
feature did not keep what it promises. ``--save`` keeps the report in bench/results.
"""

import faulthandler
import random
import signal
import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from bench import machine
from bench.soak.tally import Tally
from bench.table import table

from .account import HEADS, Row, totals
from .run import Semantics

REPORT = Path(__file__).parents[3] / "bench" / "results" / "soak-semantics.txt"


@click.command()
@click.option("--minutes", default=10.0, show_default=True, help="Of load; up to three to end.")
@click.option("--seed", type=int, help="Of what comes by chance. [a new one, printed]")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where data goes. [a temporary]")
@click.option("--save", is_flag=True, help="Keep the report in the repository.")
def main(*, minutes: float, seed: int | None, data_dir: Path | None, save: bool) -> None:
    """Run, show, judge."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # So that the broker ends with us.
    faulthandler.register(signal.SIGUSR1)  # Where every thread is, for whoever sees it hang.
    seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    console = Console()
    console.print(f"all features for {minutes:g} minutes, --seed {seed}")
    with tempfile.TemporaryDirectory(dir=data_dir) as name:
        head = machine.describe(Path(name))
        run = Semantics(Path(name) / "data", minutes, seed, console)
        rows = run.run()
        fine = all(row.fine for row in rows) and not run.tally.complaints.counts
        if not fine:
            console.print(run.broker.log_text(), markup=False, highlight=False)
    _show(console, rows)
    text = "\n".join([*head, f"run          {minutes:g} minutes, --seed {seed}"])
    text = "\n".join([text, *_lines(run.tally, rows)])
    click.echo(text)
    if save:
        REPORT.write_text(text + "\n", encoding="utf-8")
    sys.exit(0 if fine else 1)


def _show(console: Console, rows: list[Row]) -> None:
    shown = Table(title="What became of the messages")
    shown.add_column("")
    for head in HEADS:
        shown.add_column(head)
    for row in rows:
        shown.add_row("[green]yes" if row.fine else "[bold red]NO", *row.cells)
    console.print(shown)


def _lines(tally: Tally, rows: list[Row]) -> list[str]:
    failures = sorted(tally.expected_failures.items(), key=lambda pair: -pair[1])
    complaints = tally.complaints
    return [
        "beside it    " + "; ".join(f"{what}: {n:,}" for what, n in sorted(tally.done.items())),
        "refused      " + ("; ".join(f"{what}: {n:,}" for what, n in failures) or "nothing"),
        "complaints   " + ("; ".join(f"{k}: {n}" for k, n in complaints.counts.items()) or "none"),
        "",
        table(list(HEADS), [row.cells for row in [*rows, totals(rows)]], (0, 1)),
        *([""] if complaints.samples else []),
        *complaints.samples,
    ]


if __name__ == "__main__":
    main()
