"""One version against another, and periods against each other.

The decision is the p value; the interval gives the size. They come from different methods and can disagree at the edge
(5 against 0 discordant pairs: p = 0.0625, interval without 0), so a comparison says when they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

from controller.intervals import CONFIDENCE, Interval, Method, NoData, check_counts, wilson

LEVEL = 0.05
BOSCHLOO_CELLS = 40_000
"""Up to this product of the two sample sizes Boschloo's test answers within half a second; above it Fisher's decides."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The same records under two versions. The cross-table is stored, never only its margins."""

    both_wrong: int
    only_first_wrong: int
    only_second_wrong: int
    both_right: int

    def __post_init__(self) -> None:
        if min(self.both_wrong, self.only_first_wrong, self.only_second_wrong, self.both_right) < 0:
            raise ValueError("a cross-table has no negative counts")

    @property
    def n(self) -> int:
        return self.both_wrong + self.only_first_wrong + self.only_second_wrong + self.both_right


@dataclass(frozen=True, slots=True)
class Comparison:
    """``difference`` is first minus second, as a share. ``test`` names what gave ``p``; ``note`` is for the reader."""

    difference: float
    interval: Interval
    p: float
    test: str
    note: str = ""

    @property
    def is_decided(self) -> bool:
        return self.p < LEVEL


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Two-sided exact p over the discordant pairs; 1 when there are none. 6 to 0 (0.03125) is the first below 0.05."""
    from scipy.stats import binomtest

    if only_first + only_second == 0:
        return 1.0
    return min(1.0, float(binomtest(only_first, only_first + only_second, 0.5).pvalue))


def mcnemar_midp(only_first: int, only_second: int) -> float:
    """The less conservative variant, for the curious; the exact p decides."""
    from scipy.stats import binom

    total = only_first + only_second
    if total == 0:
        return 1.0
    return mcnemar_exact(only_first, only_second) - float(binom.pmf(min(only_first, only_second), total, 0.5))


def paired_interval(pairs: Pairs, confidence: float = CONFIDENCE) -> Interval:
    """Newcombe's interval for the difference of paired shares (1998, method 10, with the corrected phi)."""
    check_counts(0, pairs.n)
    a, b, c, d, n = pairs.both_wrong, pairs.only_first_wrong, pairs.only_second_wrong, pairs.both_right, pairs.n
    first, second = wilson(a + b, n, confidence), wilson(a + c, n, confidence)
    below_first, above_first = (a + b) / n - first.low, first.high - (a + b) / n
    below_second, above_second = (a + c) / n - second.low, second.high - (a + c) / n
    phi = _corrected_phi(a, b, c, d)
    low = sqrt(max(0.0, below_first**2 - 2 * phi * below_first * above_second + above_second**2))
    high = sqrt(max(0.0, above_first**2 - 2 * phi * above_first * below_second + below_second**2))
    difference = (b - c) / n
    return Interval(max(-1.0, difference - low), min(1.0, difference + high), Method.NEWCOMBE_PAIRED, confidence)


def _corrected_phi(a: int, b: int, c: int, d: int) -> float:
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    if margins == 0:
        return 0.0
    excess: float = a * d - b * c
    if excess > 0:
        excess = max(excess - (a + b + c + d) / 2, 0.0)
    return excess / sqrt(margins)


def unpaired_interval(k1: int, n1: int, k2: int, n2: int, confidence: float = CONFIDENCE) -> Interval:
    """Newcombe's hybrid score interval for ``k1/n1 - k2/n2`` on different records."""
    first, second = wilson(k1, n1, confidence), wilson(k2, n2, confidence)
    p1, p2 = k1 / n1, k2 / n2
    low = p1 - p2 - sqrt((p1 - first.low) ** 2 + (second.high - p2) ** 2)
    high = p1 - p2 + sqrt((first.high - p1) ** 2 + (p2 - second.low) ** 2)
    return Interval(max(-1.0, low), min(1.0, high), Method.NEWCOMBE, confidence)


def _table(k1: int, n1: int, k2: int, n2: int) -> list[list[int]]:
    check_counts(k1, n1)
    check_counts(k2, n2)
    return [[k1, k2], [n1 - k1, n2 - k2]]


@lru_cache(maxsize=4_096)
def boschloo(k1: int, n1: int, k2: int, n2: int) -> float:
    """Boschloo's unconditional exact p, two-sided: never less powerful than Fisher's. Slow beyond a few hundred per arm."""
    from scipy.stats import boschloo_exact

    if k1 + k2 in (0, n1 + n2):
        return 1.0  # scipy gives nan where nothing, or everything, is wrong
    return float(boschloo_exact(_table(k1, n1, k2, n2)).pvalue)


def fisher(k1: int, n1: int, k2: int, n2: int) -> float:
    """Fisher's exact p, two-sided."""
    from scipy.stats import fisher_exact

    return float(fisher_exact(_table(k1, n1, k2, n2)).pvalue)


def barnard(k1: int, n1: int, k2: int, n2: int) -> float:
    """Barnard's unconditional exact p, two-sided; shown nowhere, kept to compare with."""
    from scipy.stats import barnard_exact

    if k1 + k2 in (0, n1 + n2):
        return 1.0
    return float(barnard_exact(_table(k1, n1, k2, n2)).pvalue)


def compare_paired(pairs: Pairs, confidence: float = CONFIDENCE) -> Comparison | NoData:
    """The same records under two versions: McNemar's exact p decides, Newcombe's paired interval gives the size."""
    if pairs.n == 0:
        return NoData("no record was graded under both versions")
    p = mcnemar_exact(pairs.only_first_wrong, pairs.only_second_wrong)
    difference = (pairs.only_first_wrong - pairs.only_second_wrong) / pairs.n
    return _comparison(difference, paired_interval(pairs, confidence), p, "mcnemar_exact")


def compare_unpaired(k1: int, n1: int, k2: int, n2: int, confidence: float = CONFIDENCE) -> Comparison | NoData:
    """Different records: Boschloo's p (Fisher's for large samples) decides, Newcombe's interval gives the size."""
    if not n1 or not n2:
        return NoData("one of the versions has no graded output")
    interval = unpaired_interval(k1, n1, k2, n2, confidence)
    if n1 * n2 <= BOSCHLOO_CELLS:
        return _comparison(k1 / n1 - k2 / n2, interval, boschloo(k1, n1, k2, n2), "boschloo")
    return _comparison(k1 / n1 - k2 / n2, interval, fisher(k1, n1, k2, n2), "fisher")


def _comparison(difference: float, interval: Interval, p: float, test: str) -> Comparison:
    excludes_zero = not interval.contains(0.0)
    note = ""
    if excludes_zero and p >= LEVEL:
        note = "The interval leaves out 0, the exact test does not decide: not enough records to call it."
    elif not excludes_zero and p < LEVEL:
        note = "The exact test decides; the interval, by another method, still reaches 0."
    return Comparison(difference, interval, p, test, note)


@dataclass(frozen=True, slots=True)
class Trend:
    """Cochran-Armitage over periods in order: ``z > 0`` means that the rate grows. ``p`` is two-sided."""

    z: float
    p: float


def trend(periods: Sequence[tuple[int, int]], *, finite_variance: bool = False) -> Trend | NoData:
    """(wrong, right) of the base sample per period, equally spaced. ``finite_variance`` takes N - 1 for N."""
    from scipy.stats import norm

    sizes = [wrong + right for wrong, right in periods]
    total, bad = sum(sizes), sum(wrong for wrong, _ in periods)
    if sum(1 for size in sizes if size) < 2 or bad in (0, total):
        return NoData("a trend needs two graded periods, some outputs wrong and some right")
    share = bad / total
    centre = sum(i * size for i, size in enumerate(sizes)) / total
    spread = sum(size * (i - centre) ** 2 for i, size in enumerate(sizes))
    score = sum((i - centre) * wrong for i, (wrong, _) in enumerate(periods))
    variance = share * (1 - share) * spread * (total / (total - 1) if finite_variance else 1.0)
    z = score / sqrt(variance)
    return Trend(z, 2 * float(norm.sf(abs(z))))
