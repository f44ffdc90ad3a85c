"""Figures that stay right however often one looks: evidence, the live interval, the light.

Beta(1/2, 1/2) mixtures over a binomial likelihood (Robbins 1970; Howard et al. 2021; without replacement
Waudby-Smith & Ramdas 2020). By Ville's inequality, evidence of 20 for a false statement ever appears at most 5 % of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from math import exp, inf, lgamma, log

from controller.intervals import CountInterval, Interval, Method, check_closed, check_counts, largest, smallest

PICTURE_ALPHA = 0.10
"""For the shown live interval: each end holds with 95 % confidence, and the light agrees with it exactly."""

EVIDENCE = 20.0
"""What the light asks for: 1 / 0.05."""

_PRIOR = 0.5


class Light(StrEnum):
    """Where the live interval lies against the limit."""

    GREEN = "green"
    RED = "red"
    AMBER = "amber"
    NO_DATA = "no_data"


def log_evidence(k: int, n: int, rate: float) -> float:
    """Natural log of the evidence against "the rate is ``rate``"; ``inf`` where ``rate`` cannot give ``k`` of ``n``."""
    from scipy.special import betaln, xlog1py, xlogy

    if n == 0:
        return 0.0
    check_counts(k, n)
    likelihood = float(xlogy(k, rate) + xlog1py(n - k, -rate))
    return float(betaln(_PRIOR + k, _PRIOR + n - k) - betaln(_PRIOR, _PRIOR)) - likelihood


def log_evidence_above(k: int, n: int, limit: float) -> float:
    """Log evidence for "the rate is above ``limit``": the prior cut to (limit, 1)."""
    return _cut(log_evidence(k, n, limit), n - k, k, 1 - limit)


def log_evidence_below(k: int, n: int, limit: float) -> float:
    """Log evidence for "the rate is below ``limit``": the prior cut to (0, limit)."""
    return _cut(log_evidence(k, n, limit), k, n - k, limit)


def _cut(evidence: float, first: int, second: int, at: float) -> float:
    from scipy.special import betainc

    posterior = float(betainc(_PRIOR + first, _PRIOR + second, at))
    prior = float(betainc(_PRIOR, _PRIOR, at))
    # A posterior share that underflows is evidence of nothing: it can only withhold a light, never give one.
    return evidence + log(posterior) - log(prior) if posterior > 0 else -inf


@lru_cache(maxsize=65_536)
def live_interval(k: int, n: int, alpha: float = PICTURE_ALPHA) -> Interval:
    """Every rate that neither kind of evidence has ruled out at ``2 / alpha``. 3 of 60 gives 0.0035 to 0.1690.

    Ever misses a constant rate at most ``alpha`` of the time. At a fixed limit it holds for any drift too.
    """
    check_counts(k, n)
    needed = log(2 / alpha)
    middle = k / n
    low = 0.0 if k == 0 else _crossing(lambda rate: log_evidence_above(k, n, rate) - needed, 0.0, middle)
    high = 1.0 if k == n else _crossing(lambda rate: log_evidence_below(k, n, rate) - needed, 1.0, middle)
    return Interval(low, high, Method.LIVE, 1 - alpha)


def _crossing(excess: Callable[[float], float], ruled_out: float, kept: float) -> float:
    """Where ``excess`` falls through 0 between a rate that is ruled out and one that is kept."""
    for _ in range(200):
        middle = (ruled_out + kept) / 2
        if middle in (ruled_out, kept):
            break
        if excess(middle) >= 0:
            ruled_out = middle
        else:
            kept = middle
    return ruled_out


def light(k: int, n: int, limit: float) -> Light:
    """Red when the evidence for "above" reaches 20, green when that for "below" does, amber when neither has.

    ``k`` of ``n`` are the grades of the base sample. For any course of the rate, a wrong red and a wrong green each ever
    show at most 5 % of the time.
    """
    if n == 0:
        return Light.NO_DATA
    if log_evidence_above(k, n, limit) >= log(EVIDENCE):
        return Light.RED
    if log_evidence_below(k, n, limit) >= log(EVIDENCE):
        return Light.GREEN
    return Light.AMBER


def log_evidence_closed(k: int, n: int, wrong: int, accepted: int) -> float:
    """Log evidence against "``wrong`` of the ``accepted`` are wrong", for a closed batch graded in random order."""
    from scipy.special import betaln

    check_closed(k, n, accepted)
    right = accepted - wrong
    if wrong < k or right < n - k:
        return inf
    ways = (
        (lgamma(wrong + 1) - lgamma(wrong - k + 1))
        + (lgamma(right + 1) - lgamma(right - (n - k) + 1))
        - (lgamma(accepted + 1) - lgamma(accepted - n + 1))
    )
    return float(betaln(_PRIOR + k, _PRIOR + n - k) - betaln(_PRIOR, _PRIOR)) - ways


@lru_cache(maxsize=65_536)
def live_closed_batch(k: int, n: int, accepted: int, alpha: float = 0.05) -> CountInterval:
    """Every number of wrong outputs that the grades so far have not ruled out, looking after every grade allowed."""
    check_closed(k, n, accepted)
    needed = -log(alpha)
    first, last = k, accepted - (n - k)
    best = min(max(round(k / n * accepted), first), last)

    def kept(wrong: int) -> bool:
        return log_evidence_closed(k, n, wrong, accepted) < needed

    low = smallest(first, best, kept)
    high = largest(best, last, kept)
    return CountInterval(low, high, accepted, Method.LIVE_CLOSED, 1 - alpha)


def paired_evidence(only_first: int, only_second: int) -> float:
    """Evidence that two versions differ, from the records on which only one was wrong. 20 suffices: 7 to 0 is the first."""
    return exp(min(700.0, log_evidence(only_first, only_first + only_second, 0.5)))
