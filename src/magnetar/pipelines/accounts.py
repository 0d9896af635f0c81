"""What became of every row at the checks of a pipeline, and whether that adds up. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from magnetar.pipelines.declaration import Action, Pipeline, Source, Step
from magnetar.pipelines.query_counts import QueryCounts

ROWS = "rows"
PASSED = "passed"
FAILED = "failed: "
"""The counts that Spark observes at a view, the last one before the name of each check."""
MALFORMED = "malformed"
"""What the one check of a source with ``json`` is called: of its messages that are none."""


@dataclass(frozen=True, slots=True)
class ViewAccount:
    """The rows that came to a view's checks in one query; ``failed`` by the checks' names.

    A source rejects rows, and a step drops and quarantines them.
    """

    query: str
    view: str
    rows: int
    passed: int
    dropped: int = 0
    quarantined: int = 0
    rejected: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)

    @property
    def adds_up(self) -> bool:
        return self.rows == self.passed + self.dropped + self.set_aside

    @property
    def set_aside(self) -> int:
        """The views that another query writes."""
        return self.quarantined + self.rejected


def accounts(pipeline: Pipeline, tallies: Mapping[str, QueryCounts]) -> list[ViewAccount]:
    """One for each view with checks in each query that has rows through it."""
    views: dict[str, Source | Step] = {one.name: one for one in pipeline.sources}
    views |= {one.name: one for one in pipeline.steps}
    return [
        _account(query, views[name], counts)
        for query, tally in tallies.items()
        for name, counts in tally.steps.items()
        if name in views
    ]


def differences(
    found: Sequence[ViewAccount], tallies: Mapping[str, QueryCounts], aside: Mapping[str, str]
) -> list[str]:
    """What does not add up, a line each; ``aside`` are the views of queries that write what these
    quarantine or reject.

    The rows that a query passed on or left out are those that came to it; and of the rows that a
    sink's query left to another, that one has written as many, when both have read as many.
    """
    lines = [
        f"{one.query}: at {one.view} {one.rows:,} rows came, of which {one.passed:,} went on, "
        f"{one.dropped:,} were dropped, {one.quarantined:,} quarantined and {one.rejected:,} "
        "rejected"
        for one in found
        if not one.adds_up
    ]
    for query, view in aside.items():
        written = tallies[query].rows_written
        lines += [
            f"{one.query}: at {view} {one.set_aside:,} rows were "
            f"{'rejected' if one.rejected else 'quarantined'}, but {query} wrote {written:,}"
            for one in found
            if one.view == view
            and tallies[one.query].rows_read == tallies[query].rows_read
            and one.set_aside != written
        ]
    return lines


def _account(query: str, view: Source | Step, counts: Mapping[str, int]) -> ViewAccount:
    rows, passed = counts.get(ROWS, 0), counts.get(PASSED, 0)
    if isinstance(view, Source):
        malformed = counts.get(f"{FAILED}{MALFORMED}", 0)
        return ViewAccount(query, view.name, rows, passed, rejected=malformed)
    return _account_of_step(query, view, counts)


def _account_of_step(query: str, step: Step, counts: Mapping[str, int]) -> ViewAccount:
    failed = {check.name: counts.get(f"{FAILED}{check.name}", 0) for check in step.checks}
    by_action = {
        action: sum(failed[check.name] for check in step.checks if check.action is action)
        for action in Action
    }
    return ViewAccount(
        query=query,
        view=step.name,
        rows=counts.get(ROWS, 0),
        passed=counts.get(PASSED, 0),
        dropped=by_action[Action.DROP],
        quarantined=by_action[Action.QUARANTINE],
        failed=failed,
    )
