"""``make mutants``: faults planted one by one in what was changed last; do the tests notice?

    make mutants                                    200 faults in what the last 150 commits changed
    make mutants ARGS='--count 20 --seed 7'         less of it, and the same again
    make mutants ARGS='src/magnetar/checks.py'      in files of your choice

It works on a copy of the checkout. A fault that nothing noticed is printed as a diff: write a test,
or know a reason. With any the exit code is 1.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random, SystemRandom

import click
from architecture.source import SOURCE
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import MutationSpec, TestOutcome
from mutants.choosing import ROOT, changed_last, sample, tests_of

TIMEOUT_S = 900.0
PYTEST = "-m pytest -x -q -n 0 -p no:cacheprovider -p no:schemathesis --no-header"


@click.command()
@click.argument("files", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--count", default=200, show_default=True, help="So many faults.")
@click.option(
    "--commits", default=150, show_default=True, help="Whose files, where none are named."
)
@click.option("--seed", type=int, help="An earlier run again. [another one each time]")
@click.option("--own", is_flag=True, help="Run only the file's own tests, not those from outside.")
def mutants(*, files: tuple[Path, ...], count: int, commits: int, seed: int | None, own: bool):
    seed = SystemRandom().randrange(10**6) if seed is None else seed
    chosen = [file.resolve() for file in files] or changed_last(commits)
    print(f"{count} faults in {len(chosen)} files, --seed {seed}")
    noticed = unnoticed = 0
    with copied() as tree:
        faults = sample([tree / file.relative_to(ROOT) for file in chosen], count, Random(seed))
        for number, fault in enumerate(faults, 1):
            stages = tests_of(
                SOURCE / fault.module_path.relative_to(tree / SOURCE.relative_to(ROOT)),
                lambda tests: all((tree / one).exists() for one in tests.split()),
            )
            by, diff = first_to_notice(fault, stages[:1] if own else stages)
            where = f"{fault.module_path.relative_to(tree)}:{fault.start_pos[0]}"
            print(f"{number} {where} {fault.operator_name}: {by or 'NOT NOTICED'}", flush=True)
            noticed += bool(by)
            unnoticed += not by
            if not by:
                print(diff, flush=True)
    print(f"{noticed} noticed, {unnoticed} not")
    sys.exit(bool(unnoticed))


@contextmanager
def copied() -> Iterator[Path]:
    """A copy of the checkout, as it is, where this process and what it starts then work."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    built = [str(file.relative_to(ROOT)) for file in SOURCE.glob("inner/_compiled*.so")]
    with tempfile.TemporaryDirectory(prefix="magnetar-mutants-") as folder:
        tree = Path(folder).resolve()
        for name in [*filter(None, names.split("\0")), *built]:
            if (ROOT / name).is_file():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, tree / name)
        os.environ["PYTHONPATH"] = str(tree / SOURCE.parent.relative_to(ROOT))
        os.chdir(tree)
        try:
            yield tree
        finally:
            os.chdir(ROOT)


def first_to_notice(fault: MutationSpec, stages: Iterable[str]) -> tuple[str, str]:
    """Which tests noticed the fault, or none; and what it was."""
    diff = ""
    for tests in stages:
        if not passes(tests):
            continue
        result = mutate_and_test([fault], command(tests), TIMEOUT_S)
        diff = result.diff or str(result.output)
        if result.test_outcome != TestOutcome.SURVIVED:
            return tests, diff
    return "", diff


@cache
def passes(tests: str) -> bool:
    """Whether they pass without a fault: else they would notice everything."""
    outcome, said = run_tests(command(tests), TIMEOUT_S)
    if outcome != TestOutcome.SURVIVED:
        print(f"{tests} fails without a fault, and is left out:\n{said[-2000:]}", flush=True)
    return outcome == TestOutcome.SURVIVED


def command(tests: str) -> str:
    return f"{shlex.quote(sys.executable)} {PYTEST} {tests}"


if __name__ == "__main__":
    mutants()
