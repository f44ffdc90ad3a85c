from random import Random

import pytest
from scipy.stats import binom

from controller.alternatives import jeffreys, wald
from controller.breaker import Counter, replay
from controller.breaker_planner import delay, trip_probability
from controller.intervals import clopper_pearson, wilson
from controller.sequential import live_interval
from controller.simulate import (
    METHODS,
    Change,
    Delays,
    Looks,
    Share,
    coverage,
    covering_counts,
    ever_missed,
    exact_coverage,
    exact_ever_missed,
    false_pauses,
    light_chances,
    pause_delays,
)

INTERVALS = {
    "wilson": wilson,
    "clopper_pearson": clopper_pearson,
    "live": live_interval,
    "live_95": lambda k, n: live_interval(k, n, 0.05),
    "jeffreys": jeffreys,
    "wald": wald,
}


def test_every_studied_interval_is_checked() -> None:
    assert set(INTERVALS) == set(METHODS)


def near(found: Share, exact: float) -> bool:
    """Within five standard errors: a fixed seed either passes for good or the code is wrong."""
    return abs(found.value - exact) <= 5 * (exact * (1 - exact) / found.runs) ** 0.5 + 1e-9


@pytest.mark.parametrize("method", INTERVALS)
@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_covering_counts_equal_trying_all(method: str, rate: float) -> None:
    covering = [k for k in range(26) if INTERVALS[method](k, 25).contains(rate)]
    first, last = covering_counts(method, 25, rate)
    assert covering == list(range(first, last + 1))


@pytest.mark.parametrize(
    ("method", "rate", "n", "expected"), [("wilson", 0.005, 10, 0.951), ("wilson", 0.01, 50, 0.911), ("wilson", 0.3, 14, 0.962)]
)
def test_exact_coverage_meets_the_reference(method: str, rate: float, n: int, expected: float) -> None:
    assert exact_coverage(method, rate, n) == pytest.approx(expected, abs=5e-4)


def test_simulated_coverage_meets_the_exact() -> None:
    assert near(coverage("wilson", 0.05, 60, 2_000, Random(1)), exact_coverage("wilson", 0.05, 60))
    assert near(coverage("wald", 0.01, 30, 2_000, Random(2)), exact_coverage("wald", 0.01, 30))


def test_clopper_pearson_never_falls_short() -> None:
    assert min(exact_coverage("clopper_pearson", rate / 100, 30) for rate in range(1, 31)) >= 0.95


@pytest.mark.parametrize(
    ("method", "rate", "expected"),
    [("wilson", 0.01, 0.226), ("wilson", 0.05, 0.225), ("wilson", 0.1, 0.251), ("wilson", 0.3, 0.291)],
)
def test_looking_breaks_wilson(method: str, rate: float, expected: float) -> None:
    assert exact_ever_missed(method, rate, Looks(100)) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.1, 0.3])
def test_looking_does_not_break_the_live_interval(rate: float) -> None:
    assert exact_ever_missed("live_95", rate, Looks(200, 1)) <= 0.05
    assert exact_ever_missed("live", rate, Looks(200, 1)) <= 0.10


def test_simulated_looking_meets_the_exact() -> None:
    for method in ("wilson", "live"):
        found = ever_missed(method, 0.1, Looks(40), 800, Random(3))
        assert near(found, exact_ever_missed(method, 0.1, Looks(40)))


def test_wrong_lights_stay_rare() -> None:
    found = light_chances(0.1, 0.1, 500)
    assert found.lay_below == pytest.approx(0.040, abs=5e-4)
    assert found.lay_above == pytest.approx(0.024, abs=5e-4)


def test_clean_stream_turns_green_at_36() -> None:
    assert light_chances(0.1, 0.0, 35).lay_below == 0.0
    assert light_chances(0.1, 0.0, 36).lay_below == 1.0
    assert light_chances(0.1, 0.01, 60).lay_below == pytest.approx(0.70, abs=0.01)


@pytest.mark.parametrize(("rate", "expected"), [(0.01, 0.024), (0.05, 0.026), (0.1, 0.037), (0.3, 0.038)])
def test_live_miss_meets_the_reference(rate: float, expected: float) -> None:
    assert exact_ever_missed("live_95", rate, Looks(500, 1)) == pytest.approx(expected, abs=5e-4)


def test_one_look_is_plain_coverage() -> None:
    assert exact_ever_missed("wilson", 0.1, Looks(10)) == pytest.approx(1 - exact_coverage("wilson", 0.1, 10))


def test_simulated_pauses_meet_the_exact() -> None:
    found = false_pauses(Counter(10, 4), 0.05, 300, 1_500, Random(5))
    assert near(found, trip_probability(Counter(10, 4), 0.05, 300))
    assert found.interval.contains(found.value)


def test_study_counts_like_the_counter() -> None:
    for seed in range(30):
        random = Random(seed)
        outcomes = [random.random() < 0.2 for _ in range(60)]
        paused = replay(Counter(10, 3), outcomes).tripped_at is not None
        assert false_pauses(Counter(10, 3), 0.2, 60, 1, Random(seed)).hits == paused


def test_simulated_delay_meets_the_exact() -> None:
    counter, change = Counter(10, 4), Change(0.03, 100, 0.3)
    found = pause_delays(counter, change, 400, 1_000, Random(6))
    for quantile in (0.5, 0.9):
        records = found.quantile(quantile)
        within = sum(delayed is not None and delayed <= records for delayed in found.records) / 1_000
        exact = delay(counter, 0.3, quantile, good=0.03, after=100)
        assert within >= quantile
        assert abs(records - exact) <= 3


def test_runs_without_pause_come_last() -> None:
    found = Delays((3, 9, None, None))
    assert (found.quantile(0.25), found.quantile(0.5), found.quantile(0.75)) == (3, 9, None)
    assert pause_delays(Counter(10, 4), Change(0.0, 5, 0.0), 20, 3, Random(7)).records == (None, None, None)


def test_always_pausing_start_raises() -> None:
    with pytest.raises(ValueError, match="nearly always"):
        pause_delays(Counter(10, 4), Change(1.0, 10, 0.3), 20, 1, Random(8))


def test_same_seed_gives_the_same_study() -> None:
    one, other = (coverage("wilson", 0.1, 20, 200, Random(9)) for _ in range(2))
    assert one == other
    first, last = covering_counts("wilson", 20, 0.1)
    assert 0 < binom.cdf(last, 20, 0.1) - binom.cdf(first - 1, 20, 0.1) < 1
