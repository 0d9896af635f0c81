"""Which broker takes a bundle that nobody serves: who may, and who of them has least to do. Pure.

First who may: where isolation policies name the namespace, their primary brokers, and secondary
ones too while fewer than ``min_limit`` of the primary are there with less load than
``usage_threshold``; elsewhere all brokers that are primary for no policy. Then anti-affinity: of
those, the ones in the failure domain that has fewest namespaces of the group, and of them the ones
with fewest. The rest is load.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, Literal, TypeVar

from magnetar.late_dataclass import dataclass

Strategy = Literal["LeastLongTermMessageRate", "LeastResourceUsageWithWeight"]
Matches = Callable[[str], bool]
T = TypeVar("T")

NO_DOMAIN: Final = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A broker that may take a bundle."""

    name: str
    usage: float  # 1.0: nothing is left.
    messages: float = 0.0  # A second, of all that it serves or is about to.
    bundles: int = 0
    domain: str = NO_DOMAIN


@dataclass(frozen=True, slots=True)
class IsolationPolicy:
    """Which brokers serve which namespaces. Patterns are what they match."""

    namespaces: Sequence[Matches]
    primary: Sequence[Matches]
    secondary: Sequence[Matches] = ()
    min_limit: int = 1
    usage_threshold: float = 1.0


@dataclass(frozen=True, slots=True)
class PlacementRules:
    """The settings of placement."""

    strategy: Strategy = "LeastLongTermMessageRate"
    overloaded: float = 0.85


def place(
    candidates: Iterable[Candidate],
    namespace: str,
    policies: Sequence[IsolationPolicy],
    related: Mapping[str, int],
    rules: PlacementRules,
) -> Candidate | None:
    """The broker for a bundle of a namespace; None: there is none that may have it.

    ``related`` are the other namespaces of its anti-affinity group that each broker serves.
    """
    allowed = spread(isolated(candidates, namespace, policies), related)
    return min(allowed, key=lambda each: _burden(each, rules), default=None)


def isolated(
    candidates: Iterable[Candidate], namespace: str, policies: Sequence[IsolationPolicy]
) -> list[Candidate]:
    """Those that isolation policies allow for a namespace."""
    there = list(candidates)
    its = [each for each in policies if _any(each.namespaces, namespace)]
    if not its:
        return [each for each in there if not any(_any(one.primary, each.name) for one in policies)]
    found: dict[str, Candidate] = {}
    for policy in its:
        primary = [each for each in there if _any(policy.primary, each.name)]
        well = [each for each in primary if each.usage < policy.usage_threshold]
        if len(well) < policy.min_limit:
            primary += [each for each in there if _any(policy.secondary, each.name)]
        found |= {each.name: each for each in primary}
    return list(found.values())


def spread(candidates: Sequence[Candidate], related: Mapping[str, int]) -> Sequence[Candidate]:
    """Those in the domain with fewest related namespaces, and of them those that have fewest."""
    if not related:
        return candidates
    domains: dict[str, int] = {}
    for each in candidates:
        domains[each.domain] = domains.get(each.domain, 0) + related.get(each.name, 0)
    emptiest = _least(candidates, lambda each: domains[each.domain])
    return _least(emptiest, lambda each: related.get(each.name, 0))


def _least(values: Collection[T], key: Callable[[T], int]) -> list[T]:
    least = min(map(key, values), default=0)
    return [each for each in values if key(each) == least]


def _burden(each: Candidate, rules: PlacementRules) -> tuple[bool, float, float, int, str]:
    """What is compared; the name decides last, so that all brokers choose the same."""
    full = each.usage > rules.overloaded
    pair = (each.messages, each.usage)
    if rules.strategy == "LeastResourceUsageWithWeight":
        pair = pair[::-1]
    return full, *pair, each.bundles, each.name


def _any(patterns: Iterable[Matches], text: str) -> bool:
    return any(matches(text) for matches in patterns)
