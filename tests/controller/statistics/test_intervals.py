from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from controller.alternatives import jeffreys, wald, wilson_finite
from controller.intervals import (
    clopper_pearson,
    closed_batch,
    closed_batch_lower,
    closed_batch_upper,
    largest,
    lower_limit,
    smallest,
    upper_limit,
    wilson,
)

COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
QUICK = settings(max_examples=60, deadline=None)


@st.composite
def closed_counts(draw: st.DrawFn) -> tuple[int, int, int]:
    accepted = draw(st.integers(1, 60))
    n = draw(st.integers(1, accepted))
    return draw(st.integers(0, n)), n, accepted


@given(COUNTS)
@QUICK
def test_shown_intervals_hold_the_share(counts: tuple[int, int]) -> None:
    k, n = counts
    for method in (wilson, clopper_pearson, jeffreys, wald):
        found = method(k, n)
        assert 0 <= found.low <= k / n <= found.high <= 1


@given(COUNTS)
@QUICK
def test_one_more_wrong_moves_both_ends_up(counts: tuple[int, int]) -> None:
    k, n = counts
    if k == n:
        return
    for method in (wilson, clopper_pearson):
        assert method(k, n).low < method(k + 1, n).low
        assert method(k, n).high < method(k + 1, n).high


@given(COUNTS)
@QUICK
def test_equal_to_statsmodels(counts: tuple[int, int]) -> None:
    k, n = counts
    for method, name in ((wilson, "wilson"), (clopper_pearson, "beta"), (jeffreys, "jeffreys"), (wald, "normal")):
        low, high = proportion_confint(k, n, method=name)
        if name == "jeffreys":
            low, high = (0.0 if k == 0 else low), (1.0 if k == n else high)
        found = method(k, n)
        assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)


@given(COUNTS)
@QUICK
def test_exact_limits_equal_scipy(counts: tuple[int, int]) -> None:
    k, n = counts
    two_sided = binomtest(k, n).proportion_ci(method="exact")
    assert (clopper_pearson(k, n).low, clopper_pearson(k, n).high) == pytest.approx((two_sided.low, two_sided.high), abs=1e-9)
    assert upper_limit(k, n) == pytest.approx(binomtest(k, n, alternative="less").proportion_ci(method="exact").high, abs=1e-9)
    assert lower_limit(k, n) == pytest.approx(
        binomtest(k, n, alternative="greater").proportion_ci(method="exact").low, abs=1e-9
    )


def chance(counts: range, n: int, wrong: int, accepted: int) -> Fraction:
    """The probability of such a count among ``n`` drawn, in whole numbers."""
    return Fraction(sum(comb(wrong, k) * comb(accepted - wrong, n - k) for k in counts), comb(accepted, n))


@given(closed_counts())
@QUICK
def test_closed_batch_equals_trying_every_count(counts: tuple[int, int, int]) -> None:
    k, n, accepted = counts
    possible = range(k, accepted - (n - k) + 1)
    low = min(wrong for wrong in possible if chance(range(k, n + 1), n, wrong, accepted) > Fraction(1, 40))
    high = max(wrong for wrong in possible if chance(range(k + 1), n, wrong, accepted) > Fraction(1, 40))
    found = closed_batch(k, n, accepted)
    assert (found.low, found.high) == (low, high)
    assert found.contains(k + round((accepted - n) * k / n))


@given(closed_counts())
@QUICK
def test_one_sided_limits_lie_inside(counts: tuple[int, int, int]) -> None:
    found = closed_batch(*counts)
    assert found.low <= closed_batch_lower(*counts) <= closed_batch_upper(*counts) <= found.high


def test_exact_tie_is_ruled_out() -> None:
    """0 of 1 graded, 39 of 40 wrong: 1/40 is not above 1/40."""
    assert closed_batch(0, 1, 40).high == 38


def test_fully_graded_batch_is_known() -> None:
    found = closed_batch(3, 40, 40)
    assert (found.low, found.high) == (3, 3)
    assert found.as_shares().low == found.as_shares().high == 3 / 40


@pytest.mark.parametrize(("k", "n"), [(0, 0), (-1, 5), (6, 5)])
def test_impossible_counts_raise(k: int, n: int) -> None:
    for method in (wilson, clopper_pearson, upper_limit, lower_limit, jeffreys, wald):
        with pytest.raises(ValueError, match=r"not possible|at least one"):
            method(k, n)


def test_more_graded_than_accepted_raises() -> None:
    with pytest.raises(ValueError, match="not possible"):
        closed_batch(0, 11, 10)


def test_finite_wilson_needs_something_ungraded() -> None:
    with pytest.raises(ValueError, match="graded"):
        wilson_finite(1, 10, 10)


@given(st.integers(-20, 20), st.integers(0, 30), st.integers(-20, 60))
@QUICK
def test_halving_equals_scanning(low: int, size: int, edge: int) -> None:
    high = low + size
    up, down = [i for i in range(low, high + 1) if i >= edge], [i for i in range(low, high + 1) if i <= edge]
    if up:
        assert smallest(low, high, lambda value: value >= edge) == up[0]
    if down:
        assert largest(low, high, lambda value: value <= edge) == down[-1]
