"""How often the shown figures are right: coverage of the intervals, false pauses and delays of the counter.

By simulation with a random generator that the caller hands in, and, where enumeration can do it, exactly beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log
from random import Random

from controller import alternatives
from controller.breaker import Counter
from controller.intervals import Interval, clopper_pearson, largest, smallest, wilson
from controller.sequential import PICTURE_ALPHA, log_evidence_above, log_evidence_below

FIRST_LOOK = 10
"""Interval methods that allow one look are not looked at before this grade."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Whether an interval from k of n lies wholly above a rate, or wholly below it."""

    lies_above: Callable[[int, int, float], bool]
    lies_below: Callable[[int, int, float], bool]


def _ends_of(limits: Callable[[int, int], Interval]) -> Ends:
    return Ends(lambda k, n, rate: limits(k, n).low > rate, lambda k, n, rate: limits(k, n).high < rate)


def _live_ends(alpha: float) -> Ends:
    """The live interval's ends by its evidence, which says the same without searching for the limit."""
    needed = log(2 / alpha)
    return Ends(
        lambda k, n, rate: log_evidence_above(k, n, rate) >= needed,
        lambda k, n, rate: log_evidence_below(k, n, rate) >= needed,
    )


METHODS: Mapping[str, Ends] = {
    "wilson": _ends_of(wilson),
    "clopper_pearson": _ends_of(clopper_pearson),
    "live": _live_ends(PICTURE_ALPHA),
    "live_95": _live_ends(0.05),
    "jeffreys": _ends_of(alternatives.jeffreys),
    "wald": _ends_of(alternatives.wald),
}
"""By name. ``live`` is the shown one, each end at 95 %; ``live_95`` has both ends together at 95 %."""


@dataclass(frozen=True, slots=True)
class Share:
    """``hits`` of ``runs``; ``interval`` is what the number of runs leaves open (Wilson)."""

    hits: int
    runs: int

    @property
    def value(self) -> float:
        return self.hits / self.runs

    @property
    def interval(self) -> Interval:
        return wilson(self.hits, self.runs)


@lru_cache(maxsize=200_000)
def covering_counts(method: str, n: int, rate: float) -> tuple[int, int]:
    """The first and last k of n whose interval contains ``rate``; first > last when none does.

    Both ends of every method grow with k, so two halvings find them without n intervals.
    """
    ends = METHODS[method]
    first = smallest(0, n + 1, lambda k: k > n or not ends.lies_below(k, n, rate))
    last = largest(-1, n, lambda k: k < 0 or not ends.lies_above(k, n, rate))
    return first, last


def coverage(method: str, rate: float, n: int, runs: int, random: Random) -> Share:
    """Share of simulated samples of ``n`` whose interval contains the true ``rate``."""
    first, last = covering_counts(method, n, rate)
    return Share(sum(first <= _wrong(rate, n, random) <= last for _ in range(runs)), runs)


def _wrong(rate: float, n: int, random: Random) -> int:
    return sum(random.random() < rate for _ in range(n))


@dataclass(frozen=True, slots=True)
class Looks:
    """Grading up to ``n``, with a look after every grade from ``first`` on."""

    n: int
    first: int = FIRST_LOOK


def ever_missed(method: str, rate: float, looks: Looks, runs: int, random: Random) -> Share:
    """Share of simulated gradings in which the interval missed ``rate`` at some look."""
    return Share(sum(_misses_somewhere(method, rate, looks, random) for _ in range(runs)), runs)


def _misses_somewhere(method: str, rate: float, looks: Looks, random: Random) -> bool:
    wrong = 0
    for graded in range(1, looks.n + 1):
        wrong += random.random() < rate
        if graded >= looks.first:
            first, last = covering_counts(method, graded, rate)
            if not first <= wrong <= last:
                return True
    return False


def exact_coverage(method: str, rate: float, n: int) -> float:
    """Coverage by enumeration: no simulation error."""
    from scipy.stats import binom

    first, last = covering_counts(method, n, rate)
    return float(binom.cdf(last, n, rate) - binom.cdf(first - 1, n, rate)) if first <= last else 0.0


def exact_ever_missed(method: str, rate: float, looks: Looks) -> float:
    """Chance that some look misses ``rate``, by following every count that was always covered."""
    found = _outcomes(method, rate, rate, looks)
    return found.lay_below + found.lay_above


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Chance that, at the first look at which the interval did not contain the asked rate, it lay below it; above it."""

    lay_below: float
    lay_above: float


def light_chances(limit: float, rate: float, n: int) -> Outcomes:
    """Chance that the light is green (``lay_below``), or red, before the other, within ``n`` looks at the true ``rate``."""
    return _outcomes("live", limit, rate, Looks(n, 1))


def _outcomes(method: str, asked: float, rate: float, looks: Looks) -> Outcomes:
    import numpy as np

    alive = np.zeros(looks.n + 2)
    alive[0] = 1.0
    below = above = 0.0
    for graded in range(1, looks.n + 1):
        alive[1:] = alive[1:] * (1 - rate) + alive[:-1] * rate
        alive[0] *= 1 - rate
        if graded >= looks.first:
            first, last = covering_counts(method, graded, asked)
            below += float(alive[:first].sum())
            above += float(alive[last + 1 :].sum())
            alive[:first] = 0.0
            alive[last + 1 :] = 0.0
    return Outcomes(below, above)


def false_pauses(counter: Counter, rate: float, n: int, runs: int, random: Random) -> Share:
    """Share of simulated batches of ``n`` records at the normal ``rate`` that the counter pauses."""
    return Share(sum(_pause_at(counter, rate, n, random) is not None for _ in range(runs)), runs)


def _pause_at(counter: Counter, rate: float, n: int, random: Random) -> int | None:
    excess, limit, threshold = counter.excess, counter.limit_pct, counter.threshold
    # The counter's step without a value per record: a study runs millions of them. A test holds the two together.
    for number in range(1, n + 1):
        excess = max(0, excess + (100 if random.random() < rate else 0) - limit)
        if excess >= threshold:
            return number
    return None


@dataclass(frozen=True, slots=True)
class Delays:
    """Records from the change to the pause, ascending; ``None`` for a run that did not pause comes last."""

    records: tuple[int | None, ...]

    def quantile(self, share: float) -> int | None:
        """The number of records within which ``share`` of the runs had paused."""
        return self.records[max(1, ceil(share * len(self.records))) - 1]


@dataclass(frozen=True, slots=True)
class Change:
    """A stream that runs at ``good`` for ``after`` records, then at ``bad``."""

    good: float
    after: int
    bad: float


def pause_delays(counter: Counter, change: Change, horizon: int, runs: int, random: Random) -> Delays:
    """Delays over ``runs`` batches that did not pause before the change; those that did are drawn again.

    ``ValueError`` when the good stretch pauses so often that a run cannot be had.
    """
    found = [_pause_at(_before_change(counter, change, random), change.bad, horizon, random) for _ in range(runs)]
    return Delays(tuple(sorted(found, key=lambda records: (records is None, records or 0))))


def _before_change(counter: Counter, change: Change, random: Random) -> Counter:
    for _ in range(1_000):
        reached = counter.run(random.random() < change.good for _ in range(change.after))
        if not reached.tripped:
            return reached
    raise ValueError("the stretch before the change nearly always pauses")


def first_pause(counter: Counter, outcomes: Sequence[bool]) -> int | None:
    """The number of the record at which some recent stretch has ``D - limit * n >= h``, by trying every stretch.

    The definition itself, in quadratic time: what the counter is tested against.
    """
    for end in range(1, len(outcomes) + 1):
        bad = 0
        for start in range(end - 1, -1, -1):
            bad += outcomes[start]
            if 100 * bad - counter.limit_pct * (end - start) >= counter.threshold - (counter.excess if start == 0 else 0):
                return end
    return None
