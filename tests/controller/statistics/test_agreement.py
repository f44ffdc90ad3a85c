import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from controller.agreement import (
    CorrectedRate,
    CrossTable,
    Gold,
    agreement,
    corrected_rate,
    kappa,
    lang_reiczigel,
    rogan_gladen,
)
from controller.intervals import NoData, Refused

QUICK = settings(max_examples=60, deadline=None)
SMALL = st.integers(0, 40)
TABLES = st.builds(CrossTable, SMALL, SMALL, SMALL, SMALL).filter(lambda table: table.n)


@pytest.mark.filterwarnings("ignore::RuntimeWarning:statsmodels")  # its z value, which we do not use, divides by 0
@given(TABLES)
@QUICK
def test_kappa_equals_statsmodels(table: CrossTable) -> None:
    found = kappa(table)
    if found is not None:
        rows = [[table.both_wrong, table.only_first_wrong], [table.only_second_wrong, table.both_right]]
        assert found == pytest.approx(float(cohens_kappa(rows).kappa), abs=1e-9)


@given(TABLES)
@QUICK
def test_measures_stay_in_range(table: CrossTable) -> None:
    found = agreement(table)
    assert 0 <= found.raw <= 1
    assert all(value is None or value <= 1 + 1e-12 for value in (found.positive, found.kappa, found.alpha, found.ac1))
    if table.apart == 0:
        assert found.raw == 1


def test_kappa_alone_misleads() -> None:
    found = agreement(CrossTable(2, 1, 1, 56))
    assert (found.raw, found.positive, found.kappa, found.ac1) == pytest.approx((58 / 60, 0.667, 0.649, 0.963), abs=5e-4)


def test_same_margins_allow_any_kappa() -> None:
    assert kappa(CrossTable(4, 4, 6, 0)) == pytest.approx(-0.52, abs=0.005)
    assert kappa(CrossTable(8, 0, 2, 4)) == pytest.approx(0.70, abs=0.005)


def test_all_right_has_no_positive_agreement() -> None:
    found = agreement(CrossTable(0, 0, 0, 12))
    assert (found.raw, found.positive, found.kappa, found.alpha) == (1.0, None, None, None)


def test_nothing_double_graded_is_no_data() -> None:
    assert isinstance(agreement(CrossTable(0, 0, 0, 0)), NoData)
    with pytest.raises(ValueError):
        CrossTable(-1, 0, 0, 3)


def test_correction_needs_enough_gold() -> None:
    refused = corrected_rate(3, 60, Gold(18, 20, 40, 40))
    assert isinstance(refused, Refused)
    assert "20 and 40" in refused.reason
    assert isinstance(corrected_rate(3, 60, Gold(28, 30, 39, 40)), CorrectedRate)
    assert isinstance(corrected_rate(0, 0, Gold(28, 30, 39, 40)), NoData)


def test_coin_tossing_graders_are_refused() -> None:
    assert isinstance(corrected_rate(3, 60, Gold(18, 30, 18, 30)), Refused)
    with pytest.raises(ValueError):
        rogan_gladen(3, 60, Gold(15, 30, 15, 30))
    with pytest.raises(ValueError):
        lang_reiczigel(3, 60, Gold(10, 30, 10, 30))


def test_perfect_graders_need_no_correction() -> None:
    assert rogan_gladen(8, 60, Gold(40, 40, 40, 40)) == pytest.approx(8 / 60)


@given(st.integers(0, 60), st.integers(24, 40), st.integers(24, 40))
@QUICK
def test_corrected_interval_stays_in_range(wrong: int, caught: int, passed: int) -> None:
    gold = Gold(caught, 40, passed, 40)
    if caught + passed > 42:
        found = lang_reiczigel(wrong, 60, gold)
        assert 0 <= found.low <= found.high <= 1
        assert 0 <= rogan_gladen(wrong, 60, gold) <= 1


def test_impossible_gold_raises() -> None:
    with pytest.raises(ValueError, match="gold"):
        Gold(5, 4, 1, 1)
