import random as stdlib_random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller import draw
from controller.draw import Accepted, Plan, Stratum

QUICK = settings(max_examples=60, deadline=None)
SEED = draw.seed(bytes(range(32)))
RECORDS = st.lists(st.text(max_size=8), unique=True, max_size=60)
RATES = st.integers(0, draw.PPM)
ACCEPTED = st.lists(
    st.builds(Accepted, st.text(max_size=6), st.sampled_from(Stratum), st.integers(0, 1)),
    max_size=50,
    unique_by=lambda a: a.record,
)
PLAN = Plan.of(100_000, {Stratum.FALLBACK: 3, Stratum.RETRIED: 2, Stratum.LOW_JUDGE: 2}, minimum=3)
PLANS = {0: PLAN, 1: Plan.of(300_000, {}, minimum=3)}


@given(st.lists(st.text(max_size=6), max_size=4), st.lists(st.text(max_size=6), max_size=4))
@QUICK
def test_framing_tells_lists_apart(one: list[str], other: list[str]) -> None:
    assert (draw.frame(*one) == draw.frame(*other)) == (one == other)


@given(st.integers(0, 2**64 - 1), RATES, RATES)
@QUICK
def test_higher_rate_keeps_everyone(place: int, one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert not draw.is_selected(place, low) or draw.is_selected(place, high)


@pytest.mark.parametrize("place", [0, 1, 2**63, 2**64 - 1])
def test_rate_ends_are_exact(place: int) -> None:
    assert not draw.is_selected(place, 0)
    assert draw.is_selected(place, draw.PPM)


def test_rate_boundary_is_exact() -> None:
    assert draw.is_selected(2**63 - 1, 500_000)
    assert not draw.is_selected(2**63, 500_000)


@given(ACCEPTED, st.randoms(use_true_random=False))
@QUICK
def test_order_of_arrival_does_not_matter(accepted: list[Accepted], shuffler: stdlib_random.Random) -> None:
    shuffled = list(accepted)
    shuffler.shuffle(shuffled)
    assert draw.draw(SEED, "b", accepted, PLANS) == draw.draw(SEED, "b", shuffled, PLANS)


@given(ACCEPTED)
@QUICK
def test_everyone_drawn_at_acceptance_stays(accepted: list[Accepted]) -> None:
    final = {item.record: item for item in draw.draw(SEED, "b", accepted, PLANS)}
    for item in accepted:
        decided = draw.decide(SEED, "b", item, PLANS[item.epoch])
        if decided is not None:
            assert final[item.record] == decided
        elif item.record in final:
            assert final[item.record].topped_up


@given(ACCEPTED)
@QUICK
def test_each_cell_is_its_smallest_places(accepted: list[Accepted]) -> None:
    final = {item.record for item in draw.draw(SEED, "b", accepted, PLANS)}
    for epoch in PLANS:
        for stratum in Stratum:
            cell = [item.record for item in accepted if (item.epoch, item.stratum) == (epoch, stratum)]
            cell.sort(key=lambda record: (draw.u(SEED, "sample", "b", record), record))
            inside = [record in final for record in cell]
            assert inside == sorted(inside, reverse=True)
            assert sum(inside) >= min(PLANS[epoch].minimum, len(cell))


@given(RECORDS, RATES, st.integers(0, 20))
@QUICK
def test_top_up_keeps_the_smallest(records: list[str], rate: int, minimum: int) -> None:
    places = {record: draw.u(SEED, "sample", "b", record) for record in records}
    kept = draw.smallest_places(places, rate, minimum)
    below = sum(draw.is_selected(place, rate) for place in places.values())
    assert len(kept) == max(below, min(minimum, len(records)))
    assert kept == sorted(records, key=lambda record: (places[record], record))[: len(kept)]


@given(ACCEPTED)
@QUICK
def test_base_sample_lies_inside(accepted: list[Accepted]) -> None:
    final = {item.record: item for item in draw.draw(SEED, "b", accepted, PLANS)}
    for item in accepted:
        in_base = draw.is_selected(draw.u(SEED, "sample", "b", item.record), PLANS[item.epoch].base_ppm)
        assert in_base == (item.record in final and final[item.record].in_base)


def test_rate_is_met_over_many_records() -> None:
    chosen = sum(draw.is_selected(draw.u(SEED, "sample", "b", f"r{i}"), 50_000) for i in range(20_000))
    assert 880 < chosen < 1_120


def test_purposes_are_independent_draws() -> None:
    places = {purpose: draw.u(SEED, purpose, "b", "r") for purpose in draw.Purpose}
    assert len(set(places.values())) == len(draw.Purpose)


def test_double_share_of_records() -> None:
    doubled = sum(draw.is_double_graded(SEED, "b", f"r{i}", PLAN) for i in range(5_000))
    assert 880 < doubled < 1_120


def test_grading_order_ignores_the_sample() -> None:
    records = [f"r{i}" for i in range(50)]
    queue = draw.grading_order(SEED, "b", records)
    assert sorted(queue) == sorted(records)
    assert queue == draw.grading_order(SEED, "b", records[::-1])
    assert queue != sorted(records, key=lambda record: draw.u(SEED, "sample", "b", record))


@pytest.mark.parametrize(
    ("facts", "stratum"),
    [
        ((True, 3, True), Stratum.FALLBACK),
        ((False, 2, True), Stratum.RETRIED),
        ((False, 1, True), Stratum.LOW_JUDGE),
        ((False, 1, False), Stratum.REST),
    ],
)
def test_first_stratum_that_fits(facts: tuple[bool, int, bool], stratum: Stratum) -> None:
    used_fallback, attempts, judged_low = facts
    assert draw.stratum_of(used_fallback=used_fallback, attempts=attempts, judged_low=judged_low) is stratum


def test_multiplied_rates_end_at_everyone() -> None:
    assert Plan.of(400_000, {Stratum.FALLBACK: 3}).rate(Stratum.FALLBACK) == draw.PPM
    assert Plan.of(400_000, {}).rate(Stratum.REST) == 400_000


@pytest.mark.parametrize(("share", "parts"), [(0.05, 50_000), ("0.2", 200_000), (1, 1_000_000), (0.000001, 1)])
def test_share_in_parts_per_million(share: float | str, parts: int) -> None:
    assert draw.ppm(share) == parts


@pytest.mark.parametrize("share", [0.0000001, -0.1, 1.1])
def test_uneven_shares_are_refused(share: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        draw.ppm(share)


@pytest.fixture
def batch() -> tuple[list[Accepted], list[str], str]:
    accepted = [Accepted(f"r{i}", list(Stratum)[i % 4], i // 150) for i in range(300)]
    sampled = [item.record for item in draw.draw(SEED, "b", accepted, PLANS)]
    return accepted, sampled, draw.commitment(SEED, PLAN.as_json())


def test_honest_batch_passes_its_audit(batch: tuple[list[Accepted], list[str], str]) -> None:
    accepted, sampled, committed = batch
    assert draw.audit(SEED, committed, "b", accepted, PLANS, sampled).is_clean


def test_audit_names_what_was_tampered_with(batch: tuple[list[Accepted], list[str], str]) -> None:
    accepted, sampled, committed = batch
    slipped_in = next(item.record for item in accepted if item.record not in sampled)
    found = draw.audit(SEED, committed, "b", accepted, PLANS, [*sampled[1:], slipped_in])
    assert (found.missing, found.extra) == ((sampled[0],), (slipped_in,))
    assert not found.is_clean


def test_other_seed_or_plan_breaks_the_commitment(batch: tuple[list[Accepted], list[str], str]) -> None:
    accepted, sampled, committed = batch
    other_seed = draw.seed(bytes(32))
    other_plan = {**PLANS, 0: replace(PLAN, minimum=4)}
    assert not draw.audit(other_seed, committed, "b", accepted, PLANS, sampled).commitment_holds
    assert not draw.audit(SEED, committed, "b", accepted, other_plan, sampled).commitment_holds


def test_canonical_plan_has_one_text() -> None:
    assert draw.canonical_json({"b": [1], "a": "é"}) == '{"a":"\\u00e9","b":[1]}'
    with pytest.raises(TypeError, match="floats"):
        draw.canonical_json({"rate": [0.05]})


def test_short_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        draw.seed(b"short")


def test_stratum_below_base_is_refused() -> None:
    with pytest.raises(ValueError, match="below the base"):
        Plan(50_000, {Stratum.REST: 10_000})
    with pytest.raises(ValueError, match="ppm"):
        Plan(2_000_000, {})
