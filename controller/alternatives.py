"""Interval methods that were tried and are not shown, kept so that anyone can measure again why.

Wald fails at small counts, Wilson with a finite-population factor dips to 80 % coverage in a closed batch, Jeffreys' upper
end is too low for claims, and the plain two-sided mixture does not agree with the light.
"""

from __future__ import annotations

from math import log, sqrt
from statistics import NormalDist

from controller.intervals import CONFIDENCE, Interval, Method, check_closed, check_counts
from controller.sequential import log_evidence


def wald(k: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """The textbook interval, cut to 0..1. Covers a true 0.5 % at n = 14 in 7 % of samples."""
    check_counts(k, n)
    share = k / n
    half = NormalDist().inv_cdf(0.5 + confidence / 2) * sqrt(share * (1 - share) / n)
    return Interval(max(0.0, share - half), min(1.0, share + half), Method.COMPARED, confidence)


def jeffreys(k: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """Equal-tailed Beta(k + 1/2, n - k + 1/2) interval."""
    from scipy.special import betaincinv

    check_counts(k, n)
    tail = (1 - confidence) / 2
    low = 0.0 if k == 0 else float(betaincinv(k + 0.5, n - k + 0.5, tail))
    high = 1.0 if k == n else float(betaincinv(k + 0.5, n - k + 0.5, 1 - tail))
    return Interval(low, high, Method.COMPARED, confidence)


def wilson_finite(k: int, n: int, accepted: int, confidence: float = CONFIDENCE) -> Interval:
    """Wilson with the effective size ``n (N-1)/(N-n)``, which is not whole, so that scipy's counts do not fit.

    ``ValueError`` when all are graded: nothing is left to estimate.
    """
    check_closed(k, n, accepted)
    if n == accepted:
        raise ValueError("every accepted output is graded")
    size = n * (accepted - 1) / (accepted - n)
    share = k / n
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    centre = (share + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    return Interval(
        0.0 if k == 0 else max(0.0, centre - half),
        1.0 if k == n else min(1.0, centre + half),
        Method.COMPARED,
        confidence,
    )


def plain_mixture(k: int, n: int, alpha: float = 0.05) -> Interval:
    """Every rate whose two-sided evidence is below ``1 / alpha``: anytime-valid, but wider and without a side."""
    from scipy.optimize import brentq

    check_counts(k, n)

    def excess(rate: float) -> float:
        return log_evidence(k, n, rate) + log(alpha)

    tiny = 1e-12
    low = 0.0 if k == 0 or excess(tiny) < 0 else float(brentq(excess, tiny, k / n))
    high = 1.0 if k == n or excess(1 - tiny) < 0 else float(brentq(excess, k / n, 1 - tiny))
    return Interval(low, high, Method.COMPARED, 1 - alpha)
