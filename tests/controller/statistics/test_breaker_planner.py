from itertools import product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.breaker import Counter
from controller.breaker_planner import HORIZON, delay, mean_run, trip_probability

QUICK = settings(max_examples=30, deadline=None)


@given(st.sampled_from([10, 25, 33, 40, 60, 97]), st.integers(1, 3), st.integers(0, 250), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
@QUICK
def test_probability_equals_every_sequence(limit: int, h: int, excess: int, p: float) -> None:
    counter = Counter(limit, h, min(excess, 100 * h))
    expected = sum(
        prod(p if bad else 1 - p for bad in outcomes)
        for outcomes in product([False, True], repeat=9)
        if counter.run(outcomes).tripped
    )
    assert trip_probability(counter, p, 9) == pytest.approx(expected, abs=1e-12)


@given(st.sampled_from([5, 10, 20]), st.integers(1, 4), st.sampled_from([0.2, 0.4, 0.9]), st.sampled_from([0.1, 0.5, 0.9]))
@QUICK
def test_delay_is_the_first_that_suffices(limit: int, h: int, p: float, quantile: float) -> None:
    counter = Counter(limit, h)
    records = delay(counter, p, quantile)
    assert trip_probability(counter, p, records) >= quantile > trip_probability(counter, p, records - 1)


@pytest.mark.parametrize(("bad", "median", "most"), [(0.15, 54, 124), (0.3, 18, 33), (1.0, 5, 5)])
def test_delay_after_a_good_stretch(bad: float, median: int, most: int) -> None:
    counter = Counter(10, 4)
    assert delay(counter, bad, good=0.03, after=300) == median
    assert delay(counter, bad, 0.9, good=0.03, after=300) == most


def test_probation_catches_a_bad_rate_sooner() -> None:
    probation = Counter(10, 4).resumed()
    assert (delay(probation, 0.3), delay(probation, 0.3, 0.9)) == (9, 20)
    assert (delay(Counter(10, 4), 0.3), delay(Counter(10, 4), 0.3, 0.9)) == (19, 33)
    assert trip_probability(probation, 0.03, 1000) == pytest.approx(0.016, abs=5e-4)


@pytest.mark.parametrize(("h", "records"), [(3, 10_254), (4, 95_947), (5, 904_495)])
def test_mean_run_meets_the_reference(h: int, records: int) -> None:
    assert round(mean_run(Counter(10, h), 0.03)) == records


def test_mean_run_by_hand() -> None:
    """At limit 60 %, h = 1, two bad records in a row are needed: at rate 1 that is 3 records (0.4 each)."""
    assert mean_run(Counter(60, 1), 1.0) == pytest.approx(3.0)
    assert mean_run(Counter(60, 1, 100), 1.0) == 0.0


def test_hopeless_delay_is_none() -> None:
    assert delay(Counter(10, 4), 0.0) is None
    assert delay(Counter(10, 8), 0.001) is None
    assert HORIZON == 20_000


def test_tripped_counter_needs_no_record() -> None:
    assert delay(Counter(10, 4, 400), 0.5) == 0
    assert trip_probability(Counter(10, 4, 400), 0.5, 0) == 1.0


def test_impossible_rates_raise() -> None:
    with pytest.raises(ValueError, match="rate"):
        trip_probability(Counter(10, 4), 1.1, 5)
    with pytest.raises(ValueError, match="quantile"):
        delay(Counter(10, 4), 0.5, 1.0)
    with pytest.raises(ValueError, match="no pause"):
        mean_run(Counter(10, 4), 0.0)
    with pytest.raises(ValueError, match="always pauses"):
        delay(Counter(10, 4), 0.5, good=1.0, after=10)
