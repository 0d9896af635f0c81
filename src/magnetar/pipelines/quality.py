"""What checks of quality make of rows: which go on, which are dropped, and which quarantined.

A row's fate is that of the first check it does not pass, in the order in which they are declared.
A check that only warns counts every row it does not hold for.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from magnetar.pipelines.accounts import FAILED, PASSED, ROWS
from magnetar.pipelines.declaration import Action, Check, Step
from magnetar.pipelines.set_aside import MESSAGE, has_message, set_aside

_FATE: Final = "__fate"


def judged(frame: DataFrame, step: Step) -> DataFrame:
    """The rows with the outcome of their checks, which Spark counts under the step's name."""
    fate = f.lit(None).cast("string")
    for check in reversed(step.checks):
        if check.action is not Action.WARN:
            fate = f.when(_holds(check), fate).otherwise(_verdict(check, step, frame))
    with_fate = frame.withColumn(_FATE, fate)
    counts = [
        f.count_if(
            ~_holds(check)
            if check.action is Action.WARN
            else f.col(_FATE).eqNullSafe(f.lit(_told(check)))
        ).alias(f"{FAILED}{check.name}")
        for check in step.checks
    ]
    passed = f.count_if(f.col(_FATE).isNull()).alias(PASSED)
    return with_fate.observe(step.name, f.count("*").alias(ROWS), passed, *counts)


def passing(judged_rows: DataFrame) -> DataFrame:
    return judged_rows.where(f.col(_FATE).isNull()).drop(_FATE)


def quarantined(judged_rows: DataFrame, step: Step) -> DataFrame:
    """The rows to be quarantined, as messages."""
    rows = judged_rows.where(f.col(_FATE).startswith(f"{Action.QUARANTINE}:"))
    reason = f.substring(_FATE, len(Action.QUARANTINE) + 2, 1 << 20)
    given = (_FATE, *MESSAGE) if has_message(rows) else (_FATE,)
    row = f.struct(*[f.col(f"`{name}`") for name in rows.columns if name not in given])
    return set_aside(rows, step.name, reason, f.to_json(row))


def _holds(check: Check) -> Column:
    return f.coalesce(f.expr(check.expect).cast("boolean"), f.lit(False))


def _told(check: Check) -> str:
    return f"{check.action}:{check.name}"


def _verdict(check: Check, step: Step, frame: DataFrame) -> Column:
    if check.action is not Action.FAIL:
        return f.lit(_told(check))
    row = f.to_json(f.struct(*[f.col(f"`{name}`") for name in frame.columns]))
    said = f.concat(f.lit(f"steps.{step.name}: the check '{check.name}' does not hold for "), row)
    return f.raise_error(said).cast("string")
