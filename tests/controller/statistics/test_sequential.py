from math import exp, inf, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf, quad
from scipy.stats import hypergeom

from controller.alternatives import plain_mixture
from controller.intervals import closed_batch
from controller.sequential import (
    EVIDENCE,
    Light,
    light,
    live_closed_batch,
    live_interval,
    log_evidence,
    log_evidence_above,
    log_evidence_below,
    log_evidence_closed,
    paired_evidence,
)

QUICK = settings(max_examples=60, deadline=None)
COUNTS = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
LIMITS = st.sampled_from([0.005, 0.01, 0.05, 0.1, 0.2, 0.5])


@given(COUNTS, LIMITS)
@QUICK
def test_light_and_picture_agree(counts: tuple[int, int], limit: float) -> None:
    found = live_interval(*counts)
    shown = light(*counts, limit)
    assert (shown is Light.RED) == (found.low >= limit)
    assert (shown is Light.GREEN) == (found.high <= limit)


@given(COUNTS)
@QUICK
def test_live_interval_holds_the_share(counts: tuple[int, int]) -> None:
    k, n = counts
    found = live_interval(k, n)
    assert 0 <= found.low <= k / n <= found.high <= 1
    wider = live_interval(k, n, 0.05)
    assert wider.low <= found.low
    assert found.high <= wider.high


@given(COUNTS)
@QUICK
def test_live_interval_grows_with_the_wrong_ones(counts: tuple[int, int]) -> None:
    k, n = counts
    if k < n:
        assert live_interval(k, n).low <= live_interval(k + 1, n).low
        assert live_interval(k, n).high <= live_interval(k + 1, n).high


def test_no_grades_light_nothing() -> None:
    assert light(0, 0, 0.1) is Light.NO_DATA
    assert log_evidence(0, 0, 0.1) == 0.0


def test_green_comes_at_grade_36() -> None:
    assert light(0, 35, 0.1) is Light.AMBER
    assert light(0, 36, 0.1) is Light.GREEN


@pytest.mark.parametrize(("k", "n", "limit"), [(0, 12, 0.1), (2, 25, 0.05), (9, 30, 0.2)])
def test_evidence_equals_quadrature(k: int, n: int, limit: float) -> None:
    mp.dps = 30

    def prior(q: mpf) -> mpf:
        return 1 / mp.sqrt(q * (1 - q))

    def weighted(q: mpf) -> mpf:
        return prior(q) * (q / limit) ** k * ((1 - q) / (1 - limit)) ** (n - k)

    above = quad(weighted, [limit, 0.5, 1]) / quad(prior, [limit, 0.5, 1])
    below = quad(weighted, [0, limit / 2, limit]) / quad(prior, [0, limit / 2, limit])
    assert exp(log_evidence_above(k, n, limit)) == pytest.approx(float(above), rel=1e-5)
    assert exp(log_evidence_below(k, n, limit)) == pytest.approx(float(below), rel=1e-5)


def test_large_counts_neither_fail_nor_invent_evidence() -> None:
    assert light(500, 50_000, 0.1) is Light.GREEN
    assert light(40_000, 50_000, 0.1) is Light.RED
    assert log_evidence_above(500, 50_000, 0.1) < 0
    found = live_interval(2_500, 50_000)
    assert 0.045 < found.low < 0.05 < found.high < 0.055


@st.composite
def closed_counts(draw: st.DrawFn) -> tuple[int, int, int]:
    accepted = draw(st.integers(1, 60))
    n = draw(st.integers(1, accepted))
    return draw(st.integers(0, n)), n, accepted


@given(closed_counts())
@QUICK
def test_closed_live_equals_trying_every_count(counts: tuple[int, int, int]) -> None:
    k, n, accepted = counts
    kept = [wrong for wrong in range(accepted + 1) if log_evidence_closed(k, n, wrong, accepted) < log(20)]
    found = live_closed_batch(k, n, accepted)
    assert kept == list(range(found.low, found.high + 1))


def test_closed_live_is_wider_than_one_look() -> None:
    once, live = closed_batch(3, 60, 300), live_closed_batch(3, 60, 300)
    assert live.low <= once.low
    assert once.high < live.high


def test_impossible_count_is_ruled_out() -> None:
    assert log_evidence_closed(3, 10, 2, 100) == inf
    assert log_evidence_closed(3, 10, 94, 100) == inf


@pytest.mark.parametrize(("wrong", "mean"), [(25, 1.0), (20, 1.0)])
def test_closed_evidence_is_a_fair_game(wrong: int, mean: float) -> None:
    """Under its own hypothesis the evidence averages to 1: by Markov, 20 is reached at most 5 % of the time."""
    assert _mean_evidence(wrong) == pytest.approx(mean, abs=1e-9)
    assert _mean_evidence(8) < 1  # samples with more than 8 wrong cannot occur


def _mean_evidence(wrong: int) -> float:
    return sum(hypergeom.pmf(k, 50, wrong, 20) * exp(log_evidence_closed(k, 20, wrong, 50)) for k in range(min(20, wrong) + 1))


def test_seven_to_nothing_decides_early() -> None:
    assert paired_evidence(6, 0) < EVIDENCE <= paired_evidence(7, 0)
    assert paired_evidence(0, 0) == 1.0


@given(COUNTS)
@QUICK
def test_plain_mixture_holds_the_share(counts: tuple[int, int]) -> None:
    k, n = counts
    found = plain_mixture(k, n)
    assert 0 <= found.low <= k / n <= found.high <= 1
