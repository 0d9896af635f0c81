import dataclasses

import pytest

from magnetar.pipelines.declaration import Action, Check, Step

STEP = Step("a", "SELECT 1", None, (), None, (), (), None)


@pytest.mark.parametrize("action", list(Action))
def test_a_step_quarantines_when_one_of_its_checks_does(action):
    checks = (Check("one", "x > 0", Action.WARN), Check("other", "y > 0", action))
    step = dataclasses.replace(STEP, checks=checks)
    assert step.quarantines == (action is Action.QUARANTINE)
