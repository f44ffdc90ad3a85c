"""Every reference vector, by the function that implements it. A vector without an implementation fails."""

import json
from collections.abc import Callable
from math import exp
from pathlib import Path
from typing import Any

import pytest

from controller import (
    agreement,
    alternatives,
    breaker,
    breaker_planner,
    comparison,
    draw,
    intervals,
    rates,
    sample_size,
    sequential,
    stratified,
)

VECTORS = Path(__file__).parents[4] / "shared" / "data" / "statistics" / "vectors.json"
CASES = json.loads(VECTORS.read_text()) if VECTORS.exists() else []
pytestmark = pytest.mark.skipif(not CASES, reason="the shared statistics vectors are not beside the project")

SEED = draw.seed(bytes(range(32)))
SEQUENCES = {
    "5 dead letters in a row": [1] * 5,
    "alternating 1,0 x 20": [1, 0] * 20,
    "3 ok then 5 dead": [0] * 3 + [1] * 5,
    "1 in 10 for 200": ([0] * 9 + [1]) * 20,
    "20 ok, then 1,0,0 repeated": [0] * 20 + [1, 0, 0] * 30,
}


def ends(found: intervals.Interval | intervals.CountInterval) -> list[float]:
    return [found.low, found.high]


def cells(rows: list[list[int]]) -> list[stratified.Cell]:
    return [stratified.Cell(*row) for row in rows]


def estimated(rows: list[list[int]], *, exact: bool) -> list[float | None]:
    found = stratified.estimate(cells(rows), exact=exact)
    return [found.point, *ends(found.interval)]


def pairs(counts: dict[str, int]) -> list[float]:
    found = comparison.compare_paired(comparison.Pairs(*(counts[name] for name in "abcd")))
    return [found.difference, *ends(found.interval)]


def table(counts: dict[str, int]) -> agreement.CrossTable:
    return agreement.CrossTable(*counts.values())


def corrected(k: int, n: int, *gold: int) -> list[float]:
    counts = agreement.Gold(gold[0], gold[1], gold[2], gold[3])
    return [agreement.rogan_gladen(k, n, counts), *ends(agreement.lang_reiczigel(k, n, counts))]


def place(batch: str, record: str) -> str:
    found = draw.u(SEED, "sample", batch, record)
    at_5, at_50 = draw.is_selected(found, 50_000), draw.is_selected(found, 500_000)
    return f"{found} (0x{found:016x}) u={found / 2**64:.6f} selected@5%={at_5} @50%={at_50}"


def trend(periods: list[list[int]], **options: bool) -> comparison.Trend:
    return comparison.trend([(wrong, right) for wrong, right in periods], **options)


IMPLEMENTATIONS: dict[str, Callable[[Any], Any]] = {
    "wilson": lambda x: ends(intervals.wilson(x["k"], x["n"])),
    "clopper_pearson": lambda x: ends(intervals.clopper_pearson(x["k"], x["n"])),
    "cp_upper_95": lambda x: [intervals.upper_limit(x["k"], x["n"])],
    "cp_lower_95": lambda x: [intervals.lower_limit(x["k"], x["n"])],
    "jeffreys": lambda x: ends(alternatives.jeffreys(x["k"], x["n"])),
    "hyper_ci (wrong outputs in batch)": lambda x: ends(intervals.closed_batch(x["k"], x["n"], x["N"])),
    "hyper upper one-sided 95%": lambda x: [intervals.closed_batch_upper(x["k"], x["n"], x["N"])],
    "wilson_fpc": lambda x: ends(alternatives.wilson_finite(x["k"], x["n"], x["N"])),
    "stratified wilson (p,lo,hi)": lambda x: estimated(x, exact=False),
    "stratified exact (p,lo,hi)": lambda x: estimated(x, exact=True),
    "stratified_upper one-sided 95 %": lambda x: [stratified.upper(cells(x))],
    "exp(log_e) two-sided e-value": lambda x: [exp(sequential.log_evidence(x["k"], x["n"], x["p"]))],
    "e_below(limit): evidence rate<limit": lambda x: [exp(sequential.log_evidence_below(x["k"], x["n"], x["limit"]))],
    "e_above(limit): evidence rate>limit": lambda x: [exp(sequential.log_evidence_above(x["k"], x["n"], x["limit"]))],
    "live_interval alpha=.05 (two-sided 95 %)": lambda x: ends(sequential.live_interval(x["k"], x["n"], 0.05)),
    "live_interval alpha=.10 (each end 95 %) = RECOMMENDED": lambda x: ends(sequential.live_interval(x["k"], x["n"])),
    "cs (simple beta-binomial CS)": lambda x: ends(alternatives.plain_mixture(x["k"], x["n"])),
    "cs_wor (wrong outputs in batch, peeking allowed)": lambda x: ends(sequential.live_closed_batch(x["k"], x["n"], x["N"])),
    "counter_trip_prob": lambda x: [breaker_planner.counter_trip_prob(**x)],
    "counter_delay": lambda x: [breaker_planner.counter_delay(**x)],
    "excess_counter(limit 10 %, h=4) trips at record": lambda x: (
        breaker.replay(breaker.Counter(10, 4), SEQUENCES[x]).tripped_at
    ),
    "n_for_limit zero wrong": lambda x: [sample_size.grades_for_limit(x["limit"])],
    "n_for_limit": lambda x: [sample_size.grades_for_limit(x["limit"], x["wrong_allowed"])],
    "n_for_limit_finite zero wrong": lambda x: [sample_size.grades_for_closed_batch(x["N"], x["limit"])],
    "mcnemar_exact": lambda x: [comparison.mcnemar_exact(x["b"], x["c"])],
    "mcnemar_midp": lambda x: [comparison.mcnemar_midp(x["b"], x["c"])],
    "newcombe_paired (d,lo,hi)": pairs,
    "newcombe_unpaired (lo,hi)": lambda x: ends(comparison.unpaired_interval(*x)),
    "boschloo / fisher / barnard p (two-sided)": lambda x: [
        comparison.boschloo(*x),
        comparison.fisher(*x),
        comparison.barnard(*x),
    ],
    "cohen_kappa": lambda x: [agreement.kappa(table(x))],
    "krippendorff_alpha nominal, 2 graders": lambda x: [agreement.krippendorff_alpha(table(x))],
    "gwet_ac1; positive agreement 2a/(2a+b+c)": lambda x: [
        agreement.gwet_ac1(table(x)),
        agreement.positive_agreement(table(x)),
    ],
    "rogan_gladen (p,lo,hi) (k,n,k_se,n_se,k_sp,n_sp)": lambda x: corrected(*x),
    "bounds_nonresponse": lambda x: ends(rates.missing_band(x["k"], x["graded"], x["sampled"])),
    "cochran_armitage z (hypergeometric variance)": lambda x: [trend(x, finite_variance=True).z],
    "cochran_armitage z, p (binomial variance)": lambda x: [trend(x).z, trend(x).p],
    "u64(seed=00..1f, purpose=sample)": lambda x: place(*x),
    "commitment(seed=00..1f, plan)": lambda x: draw.commitment(SEED, json.loads(x)),
}


def test_every_function_is_implemented() -> None:
    assert {case["fn"] for case in CASES} == set(IMPLEMENTATIONS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['fn'].split()[0]}-{case['input']}"[:60])
def test_vector_is_met(case: dict[str, Any]) -> None:
    found = IMPLEMENTATIONS[case["fn"]](case["input"])
    if isinstance(case["expect"], list):
        assert found == pytest.approx(case["expect"], abs=1e-6, rel=1e-6)
    else:
        assert found == case["expect"]
