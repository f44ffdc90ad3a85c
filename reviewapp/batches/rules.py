"""The sampling and breaker rules that a version signed, read once per version and process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from controller.breaker import Counter, Rule
from controller.draw import PPM, Plan, Stratum
from controller.envelope import Breaker, Excess, Sampling, digest_of
from reviewapp.envelopes.models import Version


@dataclass(frozen=True, slots=True)
class Rules:
    """``counters`` are fresh. ``ungraded`` is the blindness rule's number."""

    plan: Plan
    counters: dict[Rule, Counter]
    ungraded: int
    second_person: bool
    silent_limit: float
    rubric: str


def rules_of(version: Version) -> Rules:
    """The rules in the version's signed content; the defaults where the stored bytes are not those of its digest.

    Such a version makes no call, but its runs still have to end, and their ending is counted.
    """
    found = _known.get(version.digest)
    if found is None:
        if digest_of(version.canonical.encode("utf-8", "surrogatepass")) != version.digest:
            return read_rules(Sampling(), Breaker())
        found = read_rules(version.content.sampling, version.content.breaker)
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[version.digest] = found
    return found


MOST_KNOWN = 256
_known: dict[str, Rules] = {}
"""By digest: the content behind a digest never changes."""


def read_rules(sampling: Sampling, breaker: Breaker) -> Rules:
    """Rates in whole parts per million, limits in whole percent: what was signed finer than that is rounded."""
    multipliers = {
        Stratum.FALLBACK: sampling.strata.fallback,
        Stratum.RETRIED: sampling.strata.retried,
        Stratum.LOW_JUDGE: sampling.strata.low_judge,
    }
    plan = Plan.of(
        round(sampling.rate * PPM), multipliers, minimum=sampling.min_per_stratum, double_ppm=round(sampling.double * PPM)
    )
    counters = {Rule.DEAD_LETTERS: counter(breaker.dead_letters), Rule.SILENT_FAILURES: counter(breaker.silent)}
    return Rules(plan, counters, breaker.ungraded, breaker.second_person, breaker.silent.limit, sampling.rubric)


@lru_cache(maxsize=256)
def counter(excess: Excess) -> Counter:
    """A signed limit as the counter that keeps it."""
    return Counter(min(99, max(1, round(excess.limit * 100))), excess.h)
