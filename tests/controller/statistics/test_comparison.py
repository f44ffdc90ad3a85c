import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import boschloo_exact
from statsmodels.stats.contingency_tables import Table, mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep

from controller.comparison import (
    Pairs,
    boschloo,
    compare_paired,
    compare_unpaired,
    mcnemar_exact,
    mcnemar_midp,
    paired_interval,
    trend,
    unpaired_interval,
)
from controller.intervals import NoData

QUICK = settings(max_examples=60, deadline=None)
SMALL = st.integers(0, 40)
COUNTS = st.integers(1, 80).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(SMALL, SMALL)
@QUICK
def test_exact_p_equals_statsmodels(b: int, c: int) -> None:
    expected = mcnemar([[3, b], [c, 5]], exact=True).pvalue if b + c else 1.0
    assert mcnemar_exact(b, c) == pytest.approx(expected)
    assert 0 <= mcnemar_midp(b, c) <= mcnemar_exact(b, c) <= 1
    assert mcnemar_exact(b, c) == mcnemar_exact(c, b)


def test_six_to_nothing_is_the_first_decision() -> None:
    assert mcnemar_exact(5, 0) == 0.0625
    assert mcnemar_exact(6, 0) == 0.03125


@given(SMALL, SMALL, SMALL, SMALL)
@QUICK
def test_paired_interval_mirrors(a: int, b: int, c: int, d: int) -> None:
    if a + b + c + d == 0:
        return
    one, other = paired_interval(Pairs(a, b, c, d)), paired_interval(Pairs(a, c, b, d))
    assert -1 <= one.low <= (b - c) / (a + b + c + d) <= one.high <= 1
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


@given(COUNTS, COUNTS)
@QUICK
def test_unpaired_interval_equals_statsmodels(first: tuple[int, int], second: tuple[int, int]) -> None:
    (k1, n1), (k2, n2) = first, second
    found = unpaired_interval(k1, n1, k2, n2)
    low, high = confint_proportions_2indep(k1, n1, k2, n2, method="newcomb", compare="diff")
    assert (found.low, found.high) == pytest.approx((max(-1, low), min(1, high)), abs=1e-9)


def test_boschloo_equals_scipy() -> None:
    assert boschloo(4, 60, 12, 60) == pytest.approx(boschloo_exact([[4, 12], [56, 48]]).pvalue)


@pytest.mark.parametrize("counts", [(0, 20, 0, 30), (20, 20, 30, 30)])
def test_nothing_to_tell_apart_gives_one(counts: tuple[int, int, int, int]) -> None:
    found = compare_unpaired(*counts)
    assert found.p == 1.0
    assert not found.is_decided


def test_undecided_pair_says_so() -> None:
    found = compare_paired(Pairs(3, 0, 5, 76))
    assert found.p == 0.0625
    assert found.interval.high < 0
    assert not found.is_decided
    assert "does not decide" in found.note


def test_clear_pair_needs_no_note() -> None:
    found = compare_paired(Pairs(3, 12, 0, 76))
    assert found.is_decided
    assert found.note == ""
    assert found.difference == 12 / 91


def test_large_samples_fall_back_to_fisher() -> None:
    assert compare_unpaired(4, 60, 12, 60).test == "boschloo"
    assert compare_unpaired(40, 600, 120, 600).test == "fisher"


def test_no_common_record_is_no_data() -> None:
    assert isinstance(compare_paired(Pairs(0, 0, 0, 0)), NoData)
    assert isinstance(compare_unpaired(0, 0, 1, 4), NoData)
    with pytest.raises(ValueError):
        paired_interval(Pairs(0, 0, 0, 0))
    with pytest.raises(ValueError):
        Pairs(1, -1, 0, 0)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 60)), min_size=2, max_size=8))
@QUICK
def test_trend_equals_statsmodels(periods: list[tuple[int, int]]) -> None:
    found = trend(periods, finite_variance=True)
    if isinstance(found, NoData):
        return
    expected = Table(periods, shift_zeros=False).test_ordinal_association()
    assert abs(found.z) == pytest.approx(abs(expected.zscore), abs=1e-9)
    assert found.p == pytest.approx(expected.pvalue, abs=1e-9)


def test_growing_rate_gives_positive_z() -> None:
    assert trend([(1, 59), (3, 57), (9, 51)]).z > 0 > trend([(9, 51), (3, 57), (1, 59)]).z


@pytest.mark.parametrize("periods", [[], [(2, 8)], [(0, 10), (0, 10)], [(4, 0), (6, 0)], [(2, 8), (0, 0)]])
def test_trend_without_contrast_is_no_data(periods: list[tuple[int, int]]) -> None:
    assert isinstance(trend(periods), NoData)
