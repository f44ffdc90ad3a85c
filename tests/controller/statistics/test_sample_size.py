import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.intervals import closed_batch_upper, lower_limit, upper_limit
from controller.sample_size import (
    grades_for_closed_batch,
    grades_for_green,
    grades_for_limit,
    mcnemar_power,
    plan,
    records_for_power,
)
from controller.sequential import Light, light

QUICK = settings(max_examples=40, deadline=None)
LIMITS = st.sampled_from([0.01, 0.02, 0.05, 0.1, 0.2, 0.5])


@given(LIMITS, st.integers(0, 6))
@QUICK
def test_one_grade_fewer_does_not_suffice(limit: float, wrong: int) -> None:
    n = grades_for_limit(limit, wrong)
    assert upper_limit(wrong, n) <= limit
    assert n - 1 < wrong or n == 1 or upper_limit(min(wrong, n - 1), n - 1) > limit


@given(LIMITS, st.integers(0, 4))
@QUICK
def test_green_comes_exactly_then(limit: float, wrong: int) -> None:
    n = grades_for_green(limit, wrong)
    assert light(wrong, n, limit) is Light.GREEN
    assert light(min(wrong, n - 1), n - 1, limit) is not Light.GREEN
    assert n > grades_for_limit(limit, wrong)


@given(st.integers(20, 400), st.sampled_from([0.05, 0.1, 0.2]), st.integers(0, 3))
@QUICK
def test_closed_plan_carries_its_claim(accepted: int, limit: float, wrong: int) -> None:
    n = grades_for_closed_batch(accepted, limit, wrong)
    if n is not None:
        assert closed_batch_upper(wrong, n, accepted) <= limit * accepted + 1e-9
        assert n <= accepted


def test_more_wrong_than_the_limit_allows() -> None:
    assert grades_for_closed_batch(50, 0.02, 2) is None


@pytest.mark.parametrize(
    ("limit", "row"),
    [
        (0.005, (756, 1329, 1769, 2162)),
        (0.01, (377, 663, 883, 1079)),
        (0.02, (188, 330, 440, 538)),
        (0.03, (125, 220, 292, 358)),
        (0.05, (74, 131, 174, 213)),
        (0.15, (24, 42, 56, 69)),
        (0.2, (17, 31, 41, 51)),
    ],
)
def test_live_plan_meets_the_reference(limit: float, row: tuple[int, ...]) -> None:
    assert tuple(grades_for_green(limit, wrong) for wrong in range(4)) == row


@pytest.mark.parametrize(
    ("shares", "records"), [((0.06, 0), 131), ((0.06, 0.01), 228), ((0.10, 0.02), 153), ((0.20, 0.05), 92)]
)
def test_power_meets_the_reference(shares: tuple[float, float], records: int) -> None:
    assert records_for_power(*shares) == records


def test_power_at_84_records() -> None:
    assert mcnemar_power(84, 0.06, 0) == pytest.approx(0.39, abs=0.005)


def test_minutes_come_from_measured_time() -> None:
    measured, unmeasured = plan(0.1, accepted=300, seconds_per_grade=40), plan(0.1)
    assert (measured.fixed, measured.live, measured.closed) == (29, 36, 27)
    assert measured.minutes(measured.live) == 24
    assert unmeasured.minutes(36) is None


@pytest.mark.parametrize(("limit", "case"), [(0.1, (4, 14)), (0.1, (7, 30)), (0.1, (16, 100)), (0.05, (5, 30))])
def test_fewest_wrong_that_show_above(limit: float, case: tuple[int, int]) -> None:
    wrong, n = case
    assert lower_limit(wrong, n) > limit >= lower_limit(wrong - 1, n)


@pytest.mark.parametrize("limit", [0, 1, -0.1, 1.5])
def test_limit_outside_the_range_raises(limit: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        plan(limit)


def test_equal_shares_have_no_number() -> None:
    with pytest.raises(ValueError, match="differ"):
        records_for_power(0.05, 0.05)
