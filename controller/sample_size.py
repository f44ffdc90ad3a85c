"""How many outputs must be graded to say "at most x %", and what that costs in minutes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import floor, log

from controller.intervals import CONFIDENCE, smallest
from controller.sequential import EVIDENCE, log_evidence_below


@dataclass(frozen=True, slots=True)
class Plan:
    """Grades needed for "at most ``limit``" if ``wrong`` of them turn out wrong.

    ``fixed`` when the number is settled beforehand and one looks once; ``live`` when the light must turn green while people
    look; ``closed`` when the batch of ``accepted`` is closed. Minutes are ``None`` until grading time was measured.
    """

    limit: float
    wrong: int
    fixed: int
    live: int
    closed: int | None = None
    seconds_per_grade: float | None = None

    def minutes(self, grades: int) -> float | None:
        return None if self.seconds_per_grade is None else grades * self.seconds_per_grade / 60


def plan(limit: float, wrong: int = 0, *, accepted: int | None = None, seconds_per_grade: float | None = None) -> Plan:
    """Everything the helper shows for one limit. ``ValueError`` for a limit outside 0 to 1."""
    closed = None if accepted is None else grades_for_closed_batch(accepted, limit, wrong)
    return Plan(limit, wrong, grades_for_limit(limit, wrong), grades_for_green(limit, wrong), closed, seconds_per_grade)


def _check_limit(limit: float) -> None:
    if not 0 < limit < 1:
        raise ValueError("a limit lies between 0 and 1")


def _first(holds: Callable[[int], bool], start: int) -> int:
    """The smallest n from ``start`` for which ``holds``: double until it does, then halve."""
    high = max(1, start)
    while not holds(high):
        high *= 2
    return smallest(max(start, 1), high, holds)


def grades_for_limit(limit: float, wrong: int = 0, confidence: float = CONFIDENCE) -> int:
    """Fixed beforehand: the first n at which ``wrong`` of n puts the exact upper limit at or below ``limit``. 10 %, 0: 29."""
    from scipy.special import bdtr

    _check_limit(limit)
    alpha = 1 - confidence
    return _first(lambda n: float(bdtr(wrong, n, limit)) <= alpha, wrong + 1)


def grades_for_green(limit: float, wrong: int = 0) -> int:
    """Looking after every grade: the first n at which ``wrong`` of n turns the light green. 10 %, 0: 36."""
    _check_limit(limit)
    return _first(lambda n: log_evidence_below(wrong, n, limit) >= log(EVIDENCE), wrong + 1)


def grades_for_closed_batch(accepted: int, limit: float, wrong: int = 0, confidence: float = CONFIDENCE) -> int | None:
    """Of a closed batch: grades that show "at most floor(limit x accepted) wrong". ``None``: more are wrong than that allows.

    300 accepted, 10 %, 0 wrong: 27.
    """
    from scipy.stats import hypergeom

    _check_limit(limit)
    too_many = floor(Fraction(str(limit)) * accepted) + 1
    if wrong >= too_many:
        return None
    if too_many > accepted:
        return 0  # the statement holds for any batch of this size
    alpha = 1 - confidence
    return smallest(wrong, accepted, lambda n: float(hypergeom.cdf(wrong, accepted, too_many, n)) <= alpha)


def records_for_power(only_first: float, only_second: float, power: float = 0.8, level: float = 0.05) -> int:
    """Paired records after which McNemar's exact test reaches ``power``, when those shares are wrong under one version only.

    6 % and 0 %: 131. ``ValueError`` when the shares are equal: no number suffices.
    """
    if only_first == only_second or not 0 < only_first + only_second <= 1:
        raise ValueError("the two shares must differ and fit into 1")
    return _first(lambda n: mcnemar_power(n, only_first, only_second, level) >= power, 6)


def mcnemar_power(n: int, only_first: float, only_second: float, level: float = 0.05) -> float:
    """Chance that the exact test over ``n`` pairs comes out below ``level``."""
    import numpy as np
    from scipy.stats import binom

    apart = only_first + only_second
    total = 0.0
    for discordant in range(n + 1):
        reach = float(binom.pmf(discordant, n, apart))
        if reach < 1e-12:
            continue
        cut = int(binom.ppf(level / 2, discordant, 0.5))
        tails = np.arange(max(0, cut - 2), cut + 2)
        rejected = tails[2 * binom.cdf(tails, discordant, 0.5) < level]
        if rejected.size == 0:
            continue
        edge = int(rejected[-1])
        share = only_first / apart
        total += reach * float(binom.cdf(edge, discordant, share) + binom.sf(discordant - edge - 1, discordant, share))
    return total
