"""How long each life of the broker's process lasts, and how it ends. Pure."""

from dataclasses import dataclass
from random import Random

LIFE_MINUTES = 2.5
LONG_SHARE = 0.4  # One life, in the middle, has so much of the time: to see what is flat.
KILLS_IN_THREE = 2


@dataclass(frozen=True, slots=True)
class Life:
    seconds: float
    signal: str  # SIGKILL or SIGTERM; the last life goes on until the load has ended.


def plan(minutes: float, chance: Random) -> list[Life]:
    """Lives of about two minutes, and a long one."""
    count = max(3, round(minutes / LIFE_MINUTES))
    long = count // 2
    weights = [chance.uniform(0.7, 1.3) for _ in range(count)]
    rest = sum(weights) - weights[long]
    shares = [(1 - LONG_SHARE) * weight / rest for weight in weights]
    shares[long] = LONG_SHARE
    first = chance.randrange(3)
    return [
        Life(
            share * minutes * 60, "SIGKILL" if (first + number) % 3 < KILLS_IN_THREE else "SIGTERM"
        )
        for number, share in enumerate(shares)
    ]
