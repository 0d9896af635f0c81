"""What became of every row at the checks of a pipeline, and whether that adds up. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from magnetar.pipelines.declaration import Action, Pipeline, Step
from magnetar.pipelines.tally import Tally

ROWS = "rows"
PASSED = "passed"
FAILED = "failed: "
"""The counts that Spark observes at a step, the last one before the name of each check."""


@dataclass(frozen=True, slots=True)
class StepAccount:
    """The rows that came to a step's checks in one query; ``failed`` by the checks' names."""

    query: str
    step: str
    rows: int
    passed: int
    dropped: int
    quarantined: int
    failed: Mapping[str, int]

    @property
    def adds_up(self) -> bool:
        return self.rows == self.passed + self.dropped + self.quarantined


def accounts(pipeline: Pipeline, tallies: Mapping[str, Tally]) -> list[StepAccount]:
    """One for each step with checks in each query that has rows through it."""
    steps = {step.name: step for step in pipeline.steps}
    return [
        _account(query, steps[name], counts)
        for query, tally in tallies.items()
        for name, counts in tally.steps.items()
        if name in steps
    ]


def differences(
    found: Sequence[StepAccount], tallies: Mapping[str, Tally], quarantines: Mapping[str, str]
) -> list[str]:
    """What does not add up, a line each; ``quarantines`` are the steps of queries that write such.

    The rows that a query passed on or left out are those that came to it; and of the rows that a
    sink's query left to the quarantine, the quarantine's own query has written as many, when both
    have read as many.
    """
    lines = [
        f"{one.query}: at {one.step} {one.rows:,} rows came, of which {one.passed:,} went on, "
        f"{one.dropped:,} were dropped and {one.quarantined:,} quarantined"
        for one in found
        if not one.adds_up
    ]
    for query, step in quarantines.items():
        written = tallies[query].rows_written
        lines += [
            f"{one.query}: at {step} {one.quarantined:,} rows were quarantined, but {query} wrote "
            f"{written:,}"
            for one in found
            if one.step == step
            and tallies[one.query].rows_read == tallies[query].rows_read
            and one.quarantined != written
        ]
    return lines


def _account(query: str, step: Step, counts: Mapping[str, int]) -> StepAccount:
    failed = {check.name: counts.get(f"{FAILED}{check.name}", 0) for check in step.checks}
    by_action = {
        action: sum(failed[check.name] for check in step.checks if check.action is action)
        for action in Action
    }
    return StepAccount(
        query=query,
        step=step.name,
        rows=counts.get(ROWS, 0),
        passed=counts.get(PASSED, 0),
        dropped=by_action[Action.DROP],
        quarantined=by_action[Action.QUARANTINE],
        failed=failed,
    )
