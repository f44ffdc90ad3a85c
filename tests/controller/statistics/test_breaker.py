from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.breaker import Counter, Rule, blind, description, examples, in_a_row, over_limit, replay, tripping_count
from controller.simulate import first_pause

QUICK = settings(max_examples=150, deadline=None)
COUNTERS = st.builds(Counter, st.sampled_from([1, 5, 10, 25, 33, 60, 97]), st.integers(1, 5))
OUTCOMES = st.lists(st.booleans(), max_size=60)


@given(COUNTERS, OUTCOMES)
@QUICK
def test_counter_equals_trying_every_stretch(counter: Counter, outcomes: list[bool]) -> None:
    assert replay(counter, outcomes).tripped_at == first_pause(counter, outcomes)


@given(COUNTERS, OUTCOMES)
@QUICK
def test_probation_equals_trying_every_stretch(counter: Counter, outcomes: list[bool]) -> None:
    assert replay(counter.resumed(), outcomes).tripped_at == first_pause(counter.resumed(), outcomes)


@given(COUNTERS, OUTCOMES)
@QUICK
def test_tripped_stays_until_resumed(counter: Counter, outcomes: list[bool]) -> None:
    tripped = counter.run([True] * in_a_row(counter))
    assert tripped.tripped
    assert tripped.run(outcomes) == tripped
    resumed = tripped.resumed()
    assert not resumed.tripped
    assert resumed.excess == tripped.threshold // 2


@given(COUNTERS, OUTCOMES)
@QUICK
def test_bad_record_never_lowers_it(counter: Counter, outcomes: list[bool]) -> None:
    reached = counter.run(outcomes)
    assert reached.step(True).excess >= reached.excess
    assert reached.step(False).excess <= reached.excess


@given(COUNTERS, st.integers(1, 120))
@QUICK
def test_examples_are_the_fewest(counter: Counter, stretch: int) -> None:
    bad = tripping_count(counter, stretch)
    if bad <= stretch:
        assert counter.run([False] * (stretch - bad) + [True] * bad).tripped
    assert 100 * (bad - 1) - counter.limit_pct * stretch < counter.threshold


def test_step_leaves_the_value_alone() -> None:
    counter = Counter(10, 4)
    assert counter.step(True) == Counter(10, 4, 90)
    assert counter == Counter(10, 4, 0)


def test_five_in_a_row_trip() -> None:
    assert not Counter(10, 4).run([True] * 4).tripped
    assert Counter(10, 4).run([True] * 5).tripped


@pytest.mark.parametrize("order", [[1] * 8 + [0] * 6, [0] * 6 + [1] * 8, [1, 0] * 6 + [1, 1], [0, 1] * 6 + [1, 1]])
def test_eight_of_fourteen_pause_early(order: list[int]) -> None:
    assert 4 <= replay(Counter(10, 3), order).tripped_at <= 10


def test_rule_reads_in_one_line() -> None:
    assert description(Counter(10, 4)).endswith("5 in a row, 6 of 20, 7 of 30, 9 of 50, 14 of 100.")
    silent = description(Counter(10, 3), Rule.SILENT_FAILURES)
    assert silent.endswith("4 in a row, 5 of 20, 6 of 30, 9 of 60.")
    assert "wrong outputs" in silent


def test_short_stretches_are_left_out() -> None:
    assert examples(Counter(50, 20)) == ((45, 50), (70, 100))


def test_pause_states_rule_and_numbers() -> None:
    pause = over_limit(Counter(10, 4).run([True] * 5), Rule.DEAD_LETTERS)
    assert (pause.rule, pause.observed, pause.limit) == (Rule.DEAD_LETTERS, 450, 400)
    assert pause.text == "Dead letters are 4.5 above the 10 % allowed; the batch pauses at 4."
    assert over_limit(Counter(10, 4, 390), Rule.DEAD_LETTERS) is None


@pytest.mark.parametrize(
    ("waiting", "hours", "observed"),
    [(0, None, None), (29, 72.0, None), (30, 1.0, 30), (1, 72.5, 72), (31, 100.0, 31), (0, 100.0, None)],
)
def test_blindness_rule(waiting: int, hours: float | None, observed: int | None) -> None:
    pause = blind(waiting, hours)
    assert (pause and pause.observed) == observed
    assert pause is None or pause.rule is Rule.BLIND


def test_envelope_may_set_other_bounds() -> None:
    assert blind(5, 1.0, waiting_limit=5).limit == 5
    assert blind(1, 9.0, oldest_limit_hours=8).text.startswith("A sampled output has waited 9 hours")


def test_replay_gives_the_chart() -> None:
    found = replay(Counter(10, 4), [0, 1, 0, 1, 1, 1, 1, 1, 0])
    assert found.excesses == (0, 90, 80, 170, 260, 350, 440)
    assert found.tripped_at == 7


@pytest.mark.parametrize("limit", [0.1, "0.10", Decimal("0.1")])
def test_signed_share_becomes_percent(limit: float | str | Decimal) -> None:
    assert Counter.for_share(limit, 4) == Counter(10, 4)


@pytest.mark.parametrize("limit", [0.125, 0, 1, "0.001"])
def test_uneven_limits_are_refused(limit: float | str) -> None:
    with pytest.raises(ValueError, match="whole number of percent"):
        Counter.for_share(limit, 4)


@pytest.mark.parametrize("arguments", [(10, 0), (0, 4), (100, 4), (10, 4, -1)])
def test_impossible_counter_raises(arguments: tuple[int, ...]) -> None:
    with pytest.raises(ValueError):
        Counter(*arguments)
