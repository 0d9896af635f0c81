"""What is left of a plan in which something was found."""

from dataclasses import dataclass

from simulation.plan import draw
from simulation.shrink import shrink


@dataclass(frozen=True)
class Found:
    findings: tuple[str, ...]


def test_a_plan_is_made_smaller_as_long_as_the_same_is_found():
    plan = next(
        each
        for each in map(draw, range(1, 500))
        if len(each.faults) == 24 and len(each.producing) == 4
    )
    guilty, number = plan.faults[17], plan.producing[2].name
    ran = []

    def run(candidate):
        ran.append(candidate)
        if guilty not in candidate.faults:
            return Found(("something else: 1 of 2",))
        names = [each.name for each in candidate.producing]
        return Found((f"{number}:{len(ran)} is lost",)) if number in names else Found(())

    smaller, outcome = shrink(plan, run(plan), run)
    assert outcome.findings[0].endswith("is lost")
    assert smaller.faults == (guilty,)
    assert [each.name for each in smaller.producing] == [number]
    assert smaller.producing[0].messages <= 10
    assert smaller.subscribing == ()
    assert smaller.seed == plan.seed
    assert len(ran) <= 81
