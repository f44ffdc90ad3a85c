"""What k wrong among n graded says about a rate: the intervals that are shown, as values.

Wilson is the headline (right on average), Clopper-Pearson and the hypergeometric limits carry claims (never below their
level). scipy computes both; it is imported inside the functions, so that importing ``controller`` stays cheap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

CONFIDENCE = 0.95
"""Two-sided level of a shown interval and one-sided level of a claim."""

_TIE = 1e-12
"""A probability that equals alpha exactly (0 of 1 graded, 39 of 40 wrong: 1/40) is not above it, whatever the rounding."""


class Method(StrEnum):
    """How an interval was made; goes into exports and into the "how is this made" text."""

    WILSON = "wilson"
    CLOPPER_PEARSON = "clopper_pearson"
    HYPERGEOMETRIC = "hypergeometric"
    SQUARE_AND_ADD = "square_and_add"
    SQUARE_AND_ADD_EXACT = "square_and_add_exact"
    LIVE = "live"
    LIVE_CLOSED = "live_closed"
    NEWCOMBE = "newcombe"
    NEWCOMBE_PAIRED = "newcombe_paired"
    LANG_REICZIGEL = "lang_reiczigel"
    MISSING_BAND = "missing_band"
    COMPARED = "compared"


@dataclass(frozen=True, slots=True)
class Interval:
    """``low <= high``, as shares of 1 (differences run from -1 to 1). ``confidence`` is two-sided, 0 to 1."""

    low: float
    high: float
    method: Method
    confidence: float = CONFIDENCE

    def contains(self, share: float) -> bool:
        return self.low <= share <= self.high

    @property
    def width(self) -> float:
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class CountInterval:
    """Between ``low`` and ``high`` of the ``accepted`` outputs of one closed batch are wrong: whole numbers."""

    low: int
    high: int
    accepted: int
    method: Method
    confidence: float = CONFIDENCE

    def contains(self, wrong: int) -> bool:
        return self.low <= wrong <= self.high

    def as_shares(self) -> Interval:
        return Interval(self.low / self.accepted, self.high / self.accepted, self.method, self.confidence)


@dataclass(frozen=True, slots=True)
class NoData:
    """There is nothing to compute a figure from. Never shown as 0 %."""

    reason: str = "nothing graded yet"


@dataclass(frozen=True, slots=True)
class Refused:
    """There are numbers, and they do not carry the figure that was asked for."""

    reason: str


def check_counts(k: int, n: int) -> None:
    """``ValueError`` unless ``0 <= k <= n`` and ``n >= 1``: an interval over nothing is ``NoData``, the caller's to say."""
    if n < 1:
        raise ValueError("an interval needs at least one graded output")
    if not 0 <= k <= n:
        raise ValueError(f"{k} wrong of {n} is not possible")


def check_closed(k: int, n: int, accepted: int) -> None:
    """As ``check_counts``, and the sample fits into the batch."""
    check_counts(k, n)
    if n > accepted:
        raise ValueError(f"{n} graded of {accepted} accepted is not possible")


@lru_cache(maxsize=65_536)
def wilson(k: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval, by ``scipy.stats.binomtest``. 3 of 60 gives 0.0171 to 0.1370."""
    from scipy.stats import binomtest

    check_counts(k, n)
    found = binomtest(k, n).proportion_ci(confidence_level=confidence, method="wilson")
    low = 0.0 if k == 0 else max(0.0, float(found.low))
    high = 1.0 if k == n else min(1.0, float(found.high))
    return Interval(low, high, Method.WILSON, confidence)


def clopper_pearson(k: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """The exact interval (Clopper & Pearson 1934): each end misses at most ``(1 - confidence) / 2``."""
    one_sided = 0.5 + confidence / 2
    return Interval(lower_limit(k, n, one_sided), upper_limit(k, n, one_sided), Method.CLOPPER_PEARSON, confidence)


@lru_cache(maxsize=65_536)
def upper_limit(k: int, n: int, confidence: float = CONFIDENCE) -> float:
    """Exact one-sided upper limit: "at most this share", wrong at most ``1 - confidence`` of the time. 0 of 29: 0.0981."""
    from scipy.special import betaincinv

    check_counts(k, n)
    return 1.0 if k == n else float(betaincinv(k + 1, n - k, confidence))


@lru_cache(maxsize=65_536)
def lower_limit(k: int, n: int, confidence: float = CONFIDENCE) -> float:
    """Exact one-sided lower limit: "at least this share"."""
    from scipy.special import betaincinv

    check_counts(k, n)
    return 0.0 if k == 0 else float(betaincinv(k, n - k + 1, 1 - confidence))


@lru_cache(maxsize=65_536)
def closed_batch(k: int, n: int, accepted: int, confidence: float = CONFIDENCE) -> CountInterval:
    """How many of all ``accepted`` outputs of a closed batch are wrong, from ``k`` wrong in a random ``n`` of them."""
    one_sided = 0.5 + confidence / 2
    low = closed_batch_lower(k, n, accepted, one_sided)
    high = closed_batch_upper(k, n, accepted, one_sided)
    return CountInterval(low, high, accepted, Method.HYPERGEOMETRIC, confidence)


def closed_batch_upper(k: int, n: int, accepted: int, confidence: float = CONFIDENCE) -> int:
    """The largest number of wrong outputs under which ``k`` or fewer in the sample is not rarer than ``1 - confidence``."""
    from scipy.stats import hypergeom

    check_closed(k, n, accepted)
    alpha = 1 - confidence + _TIE
    return largest(k, accepted - (n - k), lambda wrong: float(hypergeom.cdf(k, accepted, wrong, n)) > alpha)


def closed_batch_lower(k: int, n: int, accepted: int, confidence: float = CONFIDENCE) -> int:
    """The smallest number of wrong outputs under which ``k`` or more in the sample is not rarer than ``1 - confidence``."""
    from scipy.stats import hypergeom

    check_closed(k, n, accepted)
    alpha = 1 - confidence + _TIE
    return smallest(k, accepted - (n - k), lambda wrong: float(hypergeom.sf(k - 1, accepted, wrong, n)) > alpha)


def smallest(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The smallest integer in ``low..high`` for which ``holds``; it must hold at ``high`` and, once true, stay true."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def largest(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The largest integer in ``low..high`` for which ``holds``; it must hold at ``low`` and, once false, stay false."""
    return smallest(low, high + 1, lambda value: value > high or not holds(value)) - 1
