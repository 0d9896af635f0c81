"""What the parts of one broker share."""

from contextlib import AsyncExitStack

from magnetar.broker.config import Config
from magnetar.broker.siblings import Sibling
from magnetar.clock import Clock
from magnetar.late_dataclass import dataclass
from magnetar.loop_iteration import LoopIteration
from magnetar.tasks import Tasks


@dataclass(frozen=True, slots=True)
class BuildContext:
    """Handed to whatever builds a part."""

    config: Config
    clock: Clock
    iteration: LoopIteration
    tasks: Tasks
    stack: AsyncExitStack  # It closes what the parts open.
    sibling: Sibling | None = None  # None: no other process serves the data folder.
